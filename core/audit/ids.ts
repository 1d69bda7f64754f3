import { Buffer } from "node:buffer";
import type { Tenant } from "../../kv/collection.ts";
import {
  auditIdParts,
  auditIds,
  auditTreeId,
  auditTrees,
  placeId,
} from "../../kv/records/audit.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import type { EventRow } from "../events.ts";

/**
 * Where an event of a given id is: ids are random, and an index entry a row would cost more than the row.
 * So the first bytes of ids are kept in the log's order, and each 65,536 of them sorted into parts once.
 */

/** Bytes of an id that are kept: two of a million events agree in them once in 500 logs. */
const ID_BYTES = 6;
const BLOCK = 2_048;
const GROUP = 65_536;
const PARTS = 256;
/** In a part: the id's bytes but the first, which names the part, and the place within the group. */
const ENTRY_BYTES = ID_BYTES - 1 + 2;

const partId = (group: number, part: number) => `${placeId(group)}.${part}`;

/** Where an id begins in an event row. Quotes within texts are escaped, so the last match is the member. */
const idPlace = (json: string): number => json.lastIndexOf(MEMBER) + MEMBER.length;
const MEMBER = ',"event_id":"';
/** Where in an id the digits of each kept byte are: the dash is passed over. */
const DIGITS = [0, 2, 4, 6, 9, 11];

/** Writes the first bytes of the id that stands in a text; there is one for each row of the log. */
function putId(ids: Uint8Array, at: number, text: string, from: number): void {
  for (let n = 0; n < ID_BYTES; n++) {
    const digit = from + DIGITS[n]!;
    ids[at + n] = valueOf(text.charCodeAt(digit)) << 4 | valueOf(text.charCodeAt(digit + 1));
  }
}

/** Of a lower-case hexadecimal digit. */
const valueOf = (code: number): number => code < 58 ? code - 48 : code - 87;

function keptBytes(eventId: string): Buffer {
  const ids = Buffer.alloc(ID_BYTES);
  putId(ids, 0, eventId, 0);
  return ids;
}

/** Adds the ids of rows that follow the first `size`, in the transaction. */
export async function appendIds(
  tx: Tx,
  tenant: Tenant,
  size: number,
  rows: readonly string[],
): Promise<void> {
  for (let at = 0; at < rows.length;) {
    const block = Math.floor((size + at) / BLOCK);
    const there = size + at - block * BLOCK;
    const taken = rows.slice(at, at + BLOCK - there);
    const ids = new Uint8Array((there + taken.length) * ID_BYTES);
    if (there > 0) {
      const before = await tx.get(auditIds, tenant, placeId(block));
      ids.set(before?.ids.subarray(0, there * ID_BYTES) ?? []);
    }
    taken.forEach((json, n) => putId(ids, (there + n) * ID_BYTES, json, idPlace(json)));
    const record = { id: placeId(block), ids };
    if (there > 0) tx.put(auditIds, tenant, record);
    else tx.insert(auditIds, tenant, record);
    at += taken.length;
  }
}

/** Sorts the ids of a group that is complete. Doing it twice does no harm. */
export async function sortIds({ store }: App, tenant: Tenant, group: number): Promise<void> {
  const blocks = await blocksOf(store, tenant, group, GROUP / BLOCK);
  if (blocks.some((ids) => ids?.length !== BLOCK * ID_BYTES)) return;
  const parts: number[][] = Array.from({ length: PARTS }, () => []);
  blocks.forEach((ids, block) => {
    for (let n = 0; n < BLOCK; n++) {
      const place = block * BLOCK + n;
      const [first, ...rest] = ids!.subarray(n * ID_BYTES, (n + 1) * ID_BYTES);
      parts[first!]!.push(...rest, place >>> 8, place & 255);
    }
  });
  await store.transact((tx) => {
    parts.forEach((part, n) =>
      tx.insert(auditIdParts, tenant, { id: partId(group, n), ids: Uint8Array.from(part) })
    );
    blocks.forEach((_, block) => tx.drop(auditIds, tenant, blockId(group, block)));
  });
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
  const wanted = keptBytes(eventId);
  const last = Math.ceil(tree.size / GROUP) - 1;
  for (let group = last; group >= 0; group -= GROUPS_AT_ONCE) {
    const some = Array.from({ length: Math.min(GROUPS_AT_ONCE, group + 1) }, (_, n) => group - n);
    const found = await Promise.all(
      some.map((one) => placesIn(app, tenant, one, { wanted, size: tree.size })),
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
  { wanted, size }: { wanted: Buffer; size: number },
): Promise<number[]> {
  const rows = Math.min(GROUP, size - group * GROUP);
  // Only a group that is complete is ever sorted.
  const part = rows < GROUP
    ? null
    : await store.get(auditIdParts, tenant, partId(group, wanted[0]!));
  if (part !== null) {
    const rest = wanted.subarray(1);
    return placesOf(part.ids, rest, ENTRY_BYTES).map((at) =>
      group * GROUP + part.ids[at + rest.length]! * 256 + part.ids[at + rest.length + 1]!
    );
  }
  const blocks = await blocksOf(store, tenant, group, Math.ceil(rows / BLOCK));
  return blocks.flatMap((ids = new Uint8Array(), block) =>
    placesOf(ids, wanted, ID_BYTES).map((at) => group * GROUP + block * BLOCK + at / ID_BYTES)
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
