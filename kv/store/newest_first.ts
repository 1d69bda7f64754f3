import { GET_MANY_MAX } from "../engine/engine_limits.ts";
import { type Collection, indexKey, type KeyParts, type Row, type Tenant } from "./collection.ts";
import { readStored } from "./scan.ts";
import type { Store } from "./store.ts";

/** Entries that a list reads at once. */
const BATCH = 64;

/** Which records a list has: ids from `from`, inclusive, to `before`, exclusive. */
interface Range {
  readonly from: string;
  readonly before: string;
  /** An index whose keys end with the id, and the key; all records when absent. */
  readonly by?: { readonly index: string; readonly key: KeyParts } | undefined;
}

/** Live records, newest ids first. */
export async function* newestFirst<T extends Row>(
  store: Store,
  of: Collection<T>,
  tenant: Tenant,
  { from, before, by }: Range,
): AsyncGenerator<T> {
  const base = by === undefined
    ? [tenant.org, tenant.space, of.name]
    : indexKey(of, tenant, by.index, by.key);
  const range = { start: [...base, from], end: [...base, before] };
  const entries = store.kv.list(range, { reverse: true, batchSize: BATCH });
  const live = (record: T) => store.isLive(of, record);
  if (by === undefined) {
    for await (const { value } of entries) {
      const record = of.schema.parse(value);
      if (live(record)) yield record;
    }
    return;
  }
  let ids: string[] = [];
  for await (const { key } of entries) {
    ids.push(String(key.at(-1)));
    if (ids.length < GET_MANY_MAX) continue;
    yield* (await readStored(store, of, tenant, ids)).filter(live);
    ids = [];
  }
  yield* (await readStored(store, of, tenant, ids)).filter(live);
}

/**
 * Records of several lists in one, newest ids first. Of a record that several lists have, the first of these lists
 * counts.
 */
export async function* mergeNewest<T extends Row>(
  lists: readonly AsyncIterator<T>[],
): AsyncGenerator<T> {
  const heads = await Promise.all(lists.map((list) => list.next()));
  for (;;) {
    let newest: T | null = null;
    for (const { done, value } of heads) {
      if (!done && (newest === null || value.id > newest.id)) newest = value;
    }
    if (newest === null) return;
    yield newest;
    const { id } = newest;
    await Promise.all(heads.map(async ({ done, value }, at) => {
      if (!done && value.id === id) heads[at] = await lists[at]!.next();
    }));
  }
}
