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
import type { Context } from "../../context/context.ts";
import type { EventRow } from "../emit.ts";

/**
 * Finds events by id. Ids are random, and an index entry for each row would cost more than the row. So the first
 * bytes of the ids are kept in log order, in blocks, and each complete group of 65,536 ids is sorted into parts.
 */

/** Bytes kept of an id: two of a million events share them in one of 500 logs. */
const ID_BYTES = 6;
const ID_LENGTH = 36;
const BLOCK = 512;
/** Rows of a group. */
export const GROUP = 65_536;
const PARTS = 256;
/** An entry of a part: the id bytes after the first, which names the part, and the index within the group. */
const ENTRY_BYTES = ID_BYTES - 1 + 2;

/** The parts of the relay that the index uses. */
type Needs = Pick<Context, "store">;

const partId = (group: number, part: number) => `${placeId(group)}.${part}`;

const MEMBER = ',"event_id":"';

/** The id of an event row. Quotes inside strings are escaped, so the last match is the member. */
function idOf(json: string): string {
  const from = json.lastIndexOf(MEMBER) + MEMBER.length;
  return json.slice(from, from + ID_LENGTH);
}

/** The hex digits of the kept bytes. A UUID has a dash after the fourth byte. */
const keptDigits = (id: string): string => id.slice(0, 8) + id.slice(9, 13);

/**
 * Appends the ids of rows in the transaction. `before` holds the ids of the incomplete block that ends at
 * `size`; returns those of the incomplete block afterwards.
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
 * Sorts the ids of every complete group in a log of `size` rows. Sorting a group deletes its blocks, so the oldest
 * block shows what is left to do, also after a crash. The function is idempotent.
 */
export async function sortIds({ store }: Needs, tenant: Tenant, size: number): Promise<void> {
  for (;;) {
    const { items: [oldest] } = await store.list(auditIds, tenant, { limit: 1 });
    if (oldest === undefined) return;
    const group = Math.floor(Number(oldest.id) * BLOCK / GROUP);
    if ((group + 1) * GROUP > size) return;
    const blocks = await blocksOf(store, tenant, group, GROUP / BLOCK);
    const whole = blocks.filter((ids) => ids?.length === BLOCK * ID_BYTES) as Uint8Array[];
    // Another instance has just sorted it.
    if (whole.length < blocks.length) return;
    const parts = partsOf(whole);
    await store.transact((tx) => {
      parts.forEach((ids, n) => tx.insert(auditIdParts, tenant, { id: partId(group, n), ids }));
      whole.forEach((_, block) => tx.drop(auditIds, tenant, blockId(group, block)));
    });
  }
}

/** The entries of a group's blocks, grouped by first byte. */
function partsOf(blocks: readonly Uint8Array[]): Uint8Array<ArrayBuffer>[] {
  const counts = new Uint32Array(PARTS);
  for (const ids of blocks) {
    for (let at = 0; at < ids.length; at += ID_BYTES) counts[ids[at]!]!++;
  }
  const parts = Array.from(counts, (count) => new Uint8Array(count * ENTRY_BYTES));
  const ends = new Uint32Array(PARTS);
  let index = 0;
  for (const ids of blocks) {
    for (let at = 0; at < ids.length; at += ID_BYTES, index++) {
      const first = ids[at]!, part = parts[first]!;
      let end = ends[first]!;
      for (let n = 1; n < ID_BYTES; n++) part[end++] = ids[at + n]!;
      part[end++] = index >>> 8;
      part[end++] = index & 255;
      ends[first] = end;
    }
  }
  return parts;
}

const blockId = (group: number, block: number) => placeId(group * (GROUP / BLOCK) + block);

/** The first `count` blocks of a group. */
async function blocksOf(
  store: Context["store"],
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

/** An event's sequence number, and its row as JSON while it is kept. */
interface FoundEvent {
  readonly seq: number;
  readonly row: string | null;
}

/** The event with this id, or null. An event whose row is no longer kept is matched by its kept bytes. */
export async function findEvent(
  { store, log }: Needs & Pick<Context, "log">,
  tenant: Tenant,
  eventId: string,
): Promise<FoundEvent | null> {
  if (!/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(eventId)) return null;
  const tree = await store.get(auditTrees, tenant, auditTreeId(tenant));
  if (tree === null) return null;
  const wanted = Uint8Array.fromHex(keptDigits(eventId));
  const last = Math.ceil(tree.size / GROUP) - 1;
  for (let group = last; group >= 0; group -= GROUPS_AT_ONCE) {
    const some = Array.from({ length: Math.min(GROUPS_AT_ONCE, group + 1) }, (_, n) => group - n);
    const found = await Promise.all(
      some.map((one) => indexesIn(store, tenant, one, { wanted, tree })),
    );
    for (const index of found.flat()) {
      if (index < tree.expired) return { seq: index + 1, row: null };
      const [event] = await log.read(tenant, index, 1);
      if (event === undefined || event.seq !== index + 1) continue;
      if ((JSON.parse(event.json) as EventRow).event_id === eventId) {
        return { seq: event.seq, row: event.json };
      }
    }
  }
  return null;
}

const GROUPS_AT_ONCE = 16;

/** The leaf indexes in a group of the ids that begin with these bytes. */
async function indexesIn(
  store: Context["store"],
  tenant: Tenant,
  group: number,
  { wanted, tree }: { wanted: Uint8Array; tree: AuditTreeRecord },
): Promise<number[]> {
  const rows = Math.min(GROUP, tree.size - group * GROUP);
  // Only complete groups are sorted.
  const isComplete = rows === GROUP;
  const sorted = isComplete ? await sortedIndexes(store, tenant, group, wanted) : null;
  if (sorted !== null) return sorted;
  const blocks = await blocksOf(store, tenant, group, Math.floor(rows / BLOCK));
  if (blocks.includes(undefined)) {
    // The group was completed and sorted between the reads.
    return await sortedIndexes(store, tenant, group, wanted) ?? [];
  }
  if (!isComplete) blocks.push(tree.ids);
  return blocks.flatMap((ids = new Uint8Array(), block) =>
    offsetsOf(ids, wanted, ID_BYTES).map((at) => group * GROUP + block * BLOCK + at / ID_BYTES)
  );
}

/** The leaf indexes of such ids in a sorted group; null for a group that is not sorted. */
async function sortedIndexes(
  store: Context["store"],
  tenant: Tenant,
  group: number,
  wanted: Uint8Array,
): Promise<number[] | null> {
  const part = await store.get(auditIdParts, tenant, partId(group, wanted[0]!));
  if (part === null) return null;
  const rest = wanted.subarray(1);
  return offsetsOf(part.ids, rest, ENTRY_BYTES).map((at) =>
    group * GROUP + part.ids[at + rest.length]! * 256 + part.ids[at + rest.length + 1]!
  );
}

/** The byte offsets in `ids` of the entries, each `step` bytes long, that begin with these bytes. */
function offsetsOf(ids: Uint8Array, wanted: Uint8Array, step: number): number[] {
  const offsets: number[] = [];
  const first = wanted[0]!;
  for (let at = 0; at < ids.length; at += step) {
    if (ids[at] === first && wanted.every((byte, n) => ids[at + n] === byte)) offsets.push(at);
  }
  return offsets;
}
