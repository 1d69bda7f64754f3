import {
  type Collection,
  indexKey,
  type KeyParts,
  type Row,
  systemKey,
  type Tenant,
} from "./collection.ts";
import type { Found, ListOptions, Page, Reader } from "./reader.ts";
import type { Store } from "./store.ts";

/** Entries that the engine lists in one batch. */
const LISTED_MAX = 1_000;

/** A range of an index. `start` and `end` follow the prefix. */
export interface Range {
  readonly prefix: KeyParts;
  /** Inclusive. */
  readonly start?: KeyParts;
  /** Exclusive. */
  readonly end?: KeyParts;
  readonly reverse?: boolean;
  readonly limit?: number;
}

/**
 * The keys of an index under a prefix, in order, without the prefix; the last part of each is the id. The
 * records are not read, and may be expired or gone.
 */
export async function* indexKeys<T extends Row>(
  { kv }: Store,
  of: Collection<T>,
  tenant: Tenant,
  index: string,
  { prefix, start, end, reverse = false, limit }: Range,
): AsyncGenerator<KeyParts> {
  // The engine throws at a range that ends before it starts.
  if (start !== undefined && end !== undefined && isBefore(end, start)) return;
  const base = indexKey(of, tenant, index, prefix);
  const selector = start === undefined
    ? { prefix: base, ...end && { end: [...base, ...end] } }
    : end === undefined
    ? { prefix: base, start: [...base, ...start] }
    : { start: [...base, ...start], end: [...base, ...end] };
  // One batch is one snapshot.
  const options = limit === undefined
    ? { reverse, batchSize: 500 }
    : { reverse, limit, batchSize: Math.min(limit, LISTED_MAX) };
  for await (const { key } of kv.list(selector, options)) {
    yield key.slice(base.length) as KeyParts;
  }
}

/** Whether the first of two parts that differ, of one type, is less. */
function isBefore(left: KeyParts, right: KeyParts): boolean {
  const at = left.findIndex((part, i) => part !== right[i]);
  return at !== -1 && at < right.length && left[at]! < right[at]!;
}

/** The first entry of a store-wide index for each value of its first part, which must be a string. */
export async function* queueHeads<T extends Row>(
  { kv }: Store,
  of: Collection<T>,
  queue: string,
): AsyncGenerator<{ tenant: Tenant; key: KeyParts }> {
  for await (const key of keyHeads(kv, systemKey(of, queue, []))) {
    const [org, space] = key.slice(-3) as [string, Tenant["space"]];
    yield { tenant: { org, space }, key };
  }
}

/** The tenants with records in a store-wide index that has no key of its own. One seek each. */
export async function* queuedTenants<T extends Row>(
  { kv }: Store,
  of: Collection<T>,
  queue: string,
): AsyncGenerator<Tenant> {
  for await (const [org, space] of keyHeads(kv, systemKey(of, queue, []), 2)) {
    yield { org, space } as Tenant;
  }
}

/**
 * The first key for each string that follows a prefix, or for each sequence of several strings, in order, without the
 * prefix. One seek each.
 */
export async function* keyHeads(
  kv: Deno.Kv,
  prefix: KeyParts,
  strings = 1,
): AsyncGenerator<KeyParts> {
  for (let start: KeyParts | null = null;;) {
    let head: KeyParts | null = null;
    const selector = start === null ? { prefix } : { prefix, start };
    for await (const { key } of kv.list(selector, { limit: 1 })) {
      head = key.slice(prefix.length) as KeyParts;
    }
    if (head === null) return;
    yield head;
    // Skips all keys that begin with these strings.
    const [last, ...others] = head.slice(0, strings).reverse();
    start = [...prefix, ...others.reverse(), `${last}\0`];
  }
}

type Options = Omit<ListOptions, "cursor" | "offset">;

/** All records of a list, read in pages of `limit`. */
export async function* everyListed<T extends Row>(
  db: Reader,
  of: Collection<T>,
  tenant: Tenant,
  options: Options,
): AsyncGenerator<T> {
  let cursor: string | null = null;
  do {
    const page: Page<T> = await db.list(of, tenant, { ...options, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** All records of a store-wide index, of every tenant, read in pages of `limit`. */
export async function* everyQueued<T extends Row>(
  store: Store,
  of: Collection<T>,
  index: string,
  options: Omit<Options, "index"> & { readonly before?: KeyParts },
): AsyncGenerator<Found<T>> {
  let cursor: string | null = null;
  do {
    const page: Page<Found<T>> = await store.queued(of, index, { ...options, cursor });
    yield* page.items;
    cursor = page.cursor;
  } while (cursor !== null);
}
