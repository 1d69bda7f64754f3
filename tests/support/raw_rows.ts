import { countKey, rowKey, type Tenant } from "../../kv/store/collection.ts";

/** A stored row of any kind. The kind is the name of a collection, an index or a counter. */
interface RawRow<T> {
  readonly key: Deno.KvKey;
  readonly value: T;
  readonly versionstamp: string;
  readonly kind: string;
  readonly id: string;
}

type Within = { readonly org: string; readonly space?: string; readonly kind?: string };

/** The stored rows of the store, of an organization, of its space or of one kind, in key order. */
export async function rawRows<T = unknown>(kv: Deno.Kv, within?: Within): Promise<RawRow<T>[]> {
  const { org, space, kind } = within ?? {};
  const prefix = [org, space, kind].filter((part) => part !== undefined);
  const rows: RawRow<T>[] = [];
  for await (const { key, value, versionstamp } of kv.list<T>({ prefix })) {
    rows.push({ key, value, versionstamp, kind: String(key[2]), id: String(key[3]) });
  }
  return rows;
}

/** Stores a record as it is, past its schema and its indexes. */
export async function putRaw(
  kv: Deno.Kv,
  of: { readonly name: string; readonly cached: number },
  tenant: Tenant,
  record: { readonly id: string },
): Promise<void> {
  await kv.set(rowKey(of, tenant, record.id), record);
}

/** Sets a tenant's counter of a collection. */
export async function setCount(
  kv: Deno.Kv,
  of: { readonly name: string; readonly cached: number },
  tenant: Tenant,
  count: bigint,
): Promise<void> {
  await kv.set(countKey(of, tenant), new Deno.KvU64(count));
}
