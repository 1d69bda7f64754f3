import type { Tenant } from "../../../kv/store/collection.ts";
import {
  auditIdParts,
  auditIds,
  auditTreeId,
  type AuditTreeRecord,
  auditTrees,
  placeId,
} from "../../../kv/records/audit.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import type { EventRow } from "../events.ts";

/**
 * Where an event of a given id is: ids are random, and an index entry a row would cost more than the row.
 * So the first bytes of ids are kept in the log's order, and each 65,536 of them sorted into parts once.
 */

/** Bytes of an id that are kept: two of a million events agree in them once in 500 logs. */
const ID_BYTES = 6;
const ID_LENGTH = 36;
const BLOCK = 512;
/** Rows whose ids are sorted together. */
export const GROUP = 65_536;
const PARTS = 256;
/** In a part: the id's bytes but the first, which names the part, and the place within the group. */
const ENTRY_BYTES = ID_BYTES - 1 + 2;

const partId = (group: number, part: number) => `${placeId(group)}.${part}`;

const MEMBER = ',"event_id":"';

/** The id of an event row. Quotes within texts are escaped, so the last match is the member. */
function idOf(json: string): string {
  const from = json.lastIndexOf(MEMBER) + MEMBER.length;
  return json.slice(from, from + ID_LENGTH);
}

/** The digits of the kept bytes; the dash stands between the fourth and the fifth byte. */
const keptDigits = (id: string): string => id.slice(0, 8) + id.slice(9, 13);

/**
 * Adds the ids of rows to the `before`, which do not fill the block that ends at `size`, in the transaction.
 * Answers those that do not fill one now.
 */
export function appendIds(
  tx: Tx,
  tenant: Tenant,
  { size, ids: before }: { readonly size: number; readonly ids: Uint8Array },
  rows: readonly string[],
): Uint8Array<ArrayBuffer> {
  const all = new Uint8Array(before.length + rows.length * ID_BYTES);
  all.set(before);
  all.subarray(before.length).setFromHex(rows.map((json) => keptDigits(idOf(json))).join(""));
  let block = Math.floor(size / BLOCK), at = 0;
  for (; at + BLOCK * ID_BYTES <= all.length; at += BLOCK * ID_BYTES) {
    const ids = all.slice(at, at + BLOCK * ID_BYTES);
    tx.insert(auditIds, tenant, { id: placeId(block++), ids });
  }
  return all.slice(at);
}

/**
 * Sorts the ids of every group that is complete in a log of `size` rows. Blocks of sorted groups are gone,
 * so the oldest block tells what is left to do, also of what a crash cut off. Doing it twice does no harm.
 */
export async function sortIds({ store }: App, tenant: Tenant, size: number): Promise<void> {
  for (;;) {
    const { items: [oldest] } = await store.list(auditIds, tenant, { limit: 1 });
    if (oldest === undefined) return;
    const group = Math.floor(Number(oldest.id) * BLOCK / GROUP);
    if ((group + 1) * GROUP > size) return;
    const blocks = await blocksOf(store, tenant, group, GROUP / BLOCK);
    const whole = blocks.filter((ids) => ids?.length === BLOCK * ID_BYTES) as Uint8Array[];
    // Somebody else has just sorted it.
    if (whole.length < blocks.length) return;
    const parts = partsOf(whole);
    await store.transact((tx) => {
      parts.forEach((ids, n) => tx.insert(auditIdParts, tenant, { id: partId(group, n), ids }));
      whole.forEach((_, block) => tx.drop(auditIds, tenant, blockId(group, block)));
    });
  }
}

/** The entries of a group's blocks, by their first byte. */
function partsOf(blocks: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  const counts = new Uint32Array(PARTS);
  for (const ids of blocks) {
    for (let at = 0; at < ids.length; at += ID_BYTES) counts[ids[at]!]!++;
  }
  const parts = Array.from(counts, (count) => new Uint8Array(count * ENTRY_BYTES));
  const ends = new Uint32Array(PARTS);
  let place = 0;
  for (const ids of blocks) {
    for (let at = 0; at < ids.length; at += ID_BYTES, place++) {
      const first = ids[at]!, part = parts[first]!;
      let end = ends[first]!;
      for (let n = 1; n < ID_BYTES; n++) part[end++] = ids[at + n]!;
      part[end++] = place >>> 8;
      part[end++] = place & 255;
      ends[first] = end;
    }
  }
  return parts;
}

const blockId = (group: number, block: number) => placeId(group * (GROUP / BLOCK) + block);

/** The first `count` blocks of a group. */
async function blocksOf(
  store: App["store"],
  tenant: Tenant,
  group: number,
  count: number,
): Promise<(Uint8Array | undefined)[]> {
  const records = await Promise.all(
    Array.from(
      { length: count },
      (_, block) => store.get(auditIds, tenant, blockId(group, block)),
    ),
  );
  return records.map((record) => record?.ids);
}

/** Where an event is: its number, and the row as JSON while it is kept. */
export interface Place {
  readonly seq: number;
  readonly row: string | null;
}

/** The event with this id, or null. Of one that is no longer kept, the kept bytes decide. */
export async function findEvent(app: App, tenant: Tenant, eventId: string): Promise<Place | null> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(eventId)) return null;
  const tree = await app.store.get(auditTrees, tenant, auditTreeId(tenant));
  if (tree === null) return null;
  const wanted = Uint8Array.fromHex(keptDigits(eventId));
  const last = Math.ceil(tree.size / GROUP) - 1;
  for (let group = last; group >= 0; group -= GROUPS_AT_ONCE) {
    const some = Array.from({ length: Math.min(GROUPS_AT_ONCE, group + 1) }, (_, n) => group - n);
    const found = await Promise.all(
      some.map((one) => placesIn(app, tenant, one, { wanted, tree })),
    );
    for (const place of found.flat()) {
      if (place < tree.expired) return { seq: place + 1, row: null };
      const [event] = await app.log.read(tenant, place, 1);
      if (event === undefined || event.seq !== place + 1) continue;
      if ((JSON.parse(event.json) as EventRow).event_id === eventId) {
        return { seq: event.seq, row: event.json };
      }
    }
  }
  return null;
}

const GROUPS_AT_ONCE = 16;

/** The places in the log of what begins with these bytes. */
async function placesIn(
  { store }: App,
  tenant: Tenant,
  group: number,
  { wanted, tree }: { wanted: Uint8Array; tree: AuditTreeRecord },
): Promise<number[]> {
  const rows = Math.min(GROUP, tree.size - group * GROUP);
  // Only a group that is complete is ever sorted.
  const isComplete = rows === GROUP;
  const sorted = isComplete ? await sortedPlaces(store, tenant, group, wanted) : null;
  if (sorted !== null) return sorted;
  const blocks = await blocksOf(store, tenant, group, Math.floor(rows / BLOCK));
  if (blocks.includes(undefined)) {
    // It has been sorted meanwhile, and before that completed if need be.
    return await sortedPlaces(store, tenant, group, wanted) ?? [];
  }
  if (!isComplete) blocks.push(tree.ids);
  return blocks.flatMap((ids = new Uint8Array(), block) =>
    placesOf(ids, wanted, ID_BYTES).map((at) => group * GROUP + block * BLOCK + at / ID_BYTES)
  );
}

/** The same of a group that is sorted; null for one that is not. */
async function sortedPlaces(
  store: App["store"],
  tenant: Tenant,
  group: number,
  wanted: Uint8Array,
): Promise<number[] | null> {
  const part = await store.get(auditIdParts, tenant, partId(group, wanted[0]!));
  if (part === null) return null;
  const rest = wanted.subarray(1);
  return placesOf(part.ids, rest, ENTRY_BYTES).map((at) =>
    group * GROUP + part.ids[at + rest.length]! * 256 + part.ids[at + rest.length + 1]!
  );
}

/** Where in `ids`, whose entries are `step` bytes long, one begins with these bytes. */
function placesOf(ids: Uint8Array, wanted: Uint8Array, step: number): number[] {
  const places: number[] = [];
  const first = wanted[0]!;
  for (let at = 0; at < ids.length; at += step) {
    if (ids[at] === first && wanted.every((byte, n) => ids[at + n] === byte)) places.push(at);
  }
  return places;
}
