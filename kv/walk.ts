import {
  type Collection,
  indexKey,
  type KeyParts,
  type Row,
  systemKey,
  type Tenant,
} from "./collection.ts";
import type { Store } from "./store.ts";

/** Which part of an index, by what stands behind the prefix. */
export interface Range {
  readonly prefix: KeyParts;
  /** From here on. */
  readonly start?: KeyParts;
  /** Before this. */
  readonly end?: KeyParts;
  readonly reverse?: boolean;
  /** At most so many. */
  readonly limit?: number;
}

/**
 * The keys of an index under a prefix, in order, without the prefix; the last part of each is the id. What
 * a key says is told without reading the record, which may be over its time or gone.
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
  const options = limit === undefined ? { reverse, batchSize: 500 } : { reverse, limit };
  for await (const { key } of kv.list(selector, options)) {
    yield key.slice(base.length) as KeyParts;
  }
}

/** Whether the first of two parts that differ, of one type, is less. */
function isBefore(left: KeyParts, right: KeyParts): boolean {
  const at = left.findIndex((part, i) => part !== right[i]);
  return at !== -1 && at < right.length && left[at]! < right[at]!;
}

/** The first entry of a store-wide index for each value of its first part, a text, whatever stands behind it. */
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

/** The first key for each part, a text, that follows a prefix, in order, without the prefix: one seek for each. */
export async function* keyHeads(kv: Deno.Kv, prefix: KeyParts): AsyncGenerator<KeyParts> {
  for (let start: KeyParts | null = null;;) {
    let head: KeyParts | null = null;
    const selector = start === null ? { prefix } : { prefix, start };
    for await (const { key } of kv.list(selector, { limit: 1 })) {
      head = key.slice(prefix.length) as KeyParts;
    }
    if (head === null) return;
    yield head;
    // The next text that there is: whatever begins with this one is passed over.
    start = [...prefix, `${head[0]}\0`];
  }
}
