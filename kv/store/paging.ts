import type { Collection, Tenant } from "./collection.ts";
import type { ListOptions, Page, Reader } from "./reader.ts";

/** The part of a list that a caller wants. */
export interface Paging {
  readonly limit: number;
  readonly offset: number;
}

/** The `pagination` field of a list's answer. */
export function showPage<T>({ limit, offset }: Paging, page: Page<T>, total: number) {
  return { total, limit, offset, has_more: page.cursor !== null };
}

/** One page of a stored list, with its `pagination`. */
export async function listPage<T extends { id: string }>(
  db: Reader,
  of: Collection<T>,
  tenant: Tenant,
  options: Paging & Pick<ListOptions, "index" | "prefix" | "reverse">,
) {
  const { index, prefix } = options;
  const page = await db.list(of, tenant, options);
  const total = index === undefined || prefix === undefined
    ? await db.count(of, tenant)
    : await db.countBy(of, tenant, index, prefix);
  return { items: page.items, pagination: showPage(options, page, total) };
}

/** One page of the lists of several tenants, merged by id. */
export async function listPageOfAll<T extends { id: string }>(
  db: Reader,
  of: Collection<T>,
  tenants: readonly Tenant[],
  options: Paging & Pick<ListOptions, "index" | "prefix" | "reverse">,
) {
  const { limit, offset, reverse = false, ...by } = options;
  const wanted = offset + limit;
  const lists = await Promise.all(
    tenants.map((tenant) => listPage(db, of, tenant, { ...by, reverse, limit: wanted, offset: 0 })),
  );
  const all = lists.flatMap(({ items }) => items)
    .sort((a, b) => (a.id < b.id) === reverse ? 1 : -1);
  const total = lists.reduce((sum, { pagination }) => sum + pagination.total, 0);
  const pagination = { total, limit, offset, has_more: wanted < total };
  return { items: all.slice(offset, wanted), pagination };
}

/** One page of a list in memory, with its `pagination`. */
export function pageOf<T>(all: readonly T[], { limit, offset }: Paging) {
  const total = all.length;
  const pagination = { total, limit, offset, has_more: offset + limit < total };
  return { items: all.slice(offset, offset + limit), pagination };
}
