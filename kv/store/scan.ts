import {
  canExpire,
  type Collection,
  type KeyParts,
  type Row,
  rowKey,
  type Tenant,
} from "./collection.ts";
import { GET_MANY_MAX } from "../engine/engine_limits.ts";
import type { Listed, ListOptions, Page, RowSource } from "./reader.ts";

/** A record's place in a list, and where the next one begins. */
interface Place {
  readonly tenant: Tenant;
  readonly id: string;
  readonly cursor: string;
}

/** The live records of a range of an index, in order. */
export async function scan<T extends Row>(
  store: Pick<RowSource, "kv" | "isLive">,
  of: Collection<T>,
  prefix: KeyParts,
  options: Omit<ListOptions, "index" | "prefix">,
  locate: (key: Deno.KvKey) => { tenant: Tenant; id: string },
  end?: KeyParts,
): Promise<Page<Listed<T>>> {
  const { kv } = store;
  const offset = options.offset ?? 0;
  const selector = end ? { prefix, end } : { prefix };
  const iterator = kv.list(selector, {
    ...(options.cursor ? { cursor: options.cursor } : {}),
    reverse: options.reverse ?? false,
    batchSize: Math.min(500, offset + options.limit + 1),
  });
  const items: Listed<T>[] = [];
  // An entry may outlive a record that expires, so only the record shows whether it counts.
  const skipsRows = canExpire(of);
  const enough = skipsRows ? options.limit + 1 : options.limit;
  let left = offset, waiting: Place[] = [], more = false, dry = false;
  const take = async () => {
    const rows = await readRows(store, of, waiting);
    const passed = Math.min(left, rows.length);
    left -= passed;
    items.push(...rows.slice(passed));
    waiting = [];
    dry = rows.length === 0;
  };
  for await (const { key } of iterator) {
    if (left > 0 && !skipsRows) {
      left--;
      continue;
    }
    if (items.length >= enough) {
      more = true;
      break;
    }
    waiting.push({ ...locate(key), cursor: iterator.cursor });
    // Expired records often lie together, so a read without live ones is followed by a full one.
    const wanted = dry ? GET_MANY_MAX : left + enough - items.length;
    if (waiting.length === Math.min(GET_MANY_MAX, wanted)) await take();
  }
  await take();
  more ||= items.length > options.limit;
  const page = items.slice(0, options.limit);
  return { items: page, cursor: more ? page.at(-1)!.cursor : null };
}

/** The live records at these places, in order. */
async function readRows<T extends Row>(
  store: Pick<RowSource, "kv" | "isLive">,
  of: Collection<T>,
  places: readonly Place[],
): Promise<Listed<T>[]> {
  if (places.length === 0) return [];
  const keys = places.map(({ tenant, id }) => rowKey(of, tenant, id));
  const rows = await store.kv.getMany<unknown[]>(keys);
  return rows.flatMap(({ value, versionstamp }, at) => {
    if (value === null) return [];
    const record = of.schema.parse(value);
    if (!store.isLive(of, record)) return [];
    const { tenant, cursor } = places[at]!;
    return [{ tenant, record, versionstamp: versionstamp!, cursor }];
  });
}

/** The stored records of these ids, expired ones included. */
export async function readStored<T extends Row>(
  { kv }: Pick<RowSource, "kv">,
  of: Collection<T>,
  tenant: Tenant,
  ids: readonly string[],
): Promise<T[]> {
  const found: T[] = [];
  for (let at = 0; at < ids.length; at += GET_MANY_MAX) {
    const keys = ids.slice(at, at + GET_MANY_MAX).map((id) => rowKey(of, tenant, id));
    for (const { value } of await kv.getMany<unknown[]>(keys)) {
      if (value !== null) found.push(of.schema.parse(value));
    }
  }
  return found;
}
