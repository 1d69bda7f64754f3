import { Buffer } from "node:buffer";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { auditTiles, auditTreeId, auditTrees, tileId } from "../../../kv/records/audit.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import {
  foldHashes,
  type Hash,
  HASH_BYTES,
  leafHash,
  leanLeafHash,
  rangeHash,
  type ReadNode,
  sameHash,
} from "../../protocol/protocol.ts";

/** Hashes in a full tile, which together make one hash of the level above. */
export const TILE = 256;
const TILE_LEVELS = 8;
/** Tiles that one node reader caches: half a megabyte. */
const TILES_KEPT = 64;

/** Reads nodes of a tenant's tree from its tiles, and caches the tiles. */
export function nodesOf(db: Reader, tenant: Tenant): ReadNode {
  const tiles = new RecentMap<Promise<Uint8Array>>(TILES_KEPT);
  const tileOf = (level: number, index: number) => {
    const id = tileId(level, index);
    const known = tiles.get(id);
    if (known !== undefined) return known;
    const read = readTile(db, tenant, level, index);
    tiles.set(id, read);
    return read;
  };
  return async (level, index) => {
    const within = level % TILE_LEVELS;
    const first = index * 2 ** within, count = 2 ** within;
    const tileLevel = (level - within) / TILE_LEVELS;
    const hashes = await tileOf(tileLevel, Math.floor(first / TILE));
    const from = first % TILE;
    if (hashes.length < (from + count) * HASH_BYTES) {
      throw new Error(`the tree lacks hashes of level ${level} at ${index}`);
    }
    return foldHashes(hashes, from, count);
  };
}

async function readTile(
  db: Reader,
  tenant: Tenant,
  level: number,
  index: number,
): Promise<Uint8Array> {
  const id = tileId(level, index);
  const tile = await db.get(auditTiles, tenant, id);
  if (tile !== null) return tile.hashes;
  const tree = await db.get(auditTrees, tenant, auditTreeId(tenant));
  if (level === 0 && tree !== null && Math.floor(tree.size / TILE) === index) return tree.leaves;
  // The tile may have been completed between the two reads.
  return (await db.get(auditTiles, tenant, id))?.hashes ?? new Uint8Array();
}

/** The root over the first `size` leaves. */
export const rootOf = (db: Reader, tenant: Tenant, size: number): Promise<Hash> =>
  rangeHash(nodesOf(db, tenant), 0, size);

/** True when a stored row still hashes to its leaf of the tree. */
export const isLeaf = async (
  read: ReadNode,
  { seq, json }: Pick<Sequenced, "seq" | "json">,
): Promise<boolean> => sameHash(await read(0, seq - 1), leafHash(json));

/** The end of the tile that holds the leaf `at`, or `most` before it. */
export const endOfTile = (at: number, most: number): number =>
  Math.min(most, (Math.floor(at / TILE) + 1) * TILE);

/** The leaf hashes from `lo` to below `hi`, within one tile. */
export async function leavesOf(
  db: Reader,
  tenant: Tenant,
  lo: number,
  hi: number,
): Promise<Buffer> {
  const index = Math.floor(lo / TILE);
  const hashes = await readTile(db, tenant, 0, index);
  return Buffer.from(
    hashes.subarray((lo - index * TILE) * HASH_BYTES, (hi - index * TILE) * HASH_BYTES),
  );
}

/** True when a stored row still hashes to the leaf at this place of `leaves`. */
export const isLeafAt = (leaves: Buffer, at: number, { json }: Pick<Sequenced, "json">): boolean =>
  sameHash(leanLeafHash(json), leaves.subarray(at * HASH_BYTES, (at + 1) * HASH_BYTES));

/**
 * Appends leaves to a tree in the transaction: writes the tiles that they fill and the levels above. Returns
 * the hashes that do not fill a tile.
 */
export async function growTiles(
  tx: Tx,
  tenant: Tenant,
  { size, leaves }: { readonly size: number; readonly leaves: Uint8Array },
  added: Uint8Array,
): Promise<Uint8Array<ArrayBuffer>> {
  if (leaves.length !== size % TILE * HASH_BYTES) {
    throw new Error(`the newest hashes of the tree do not end at ${size}`);
  }
  const all = new Uint8Array(leaves.length + added.length);
  all.set(leaves);
  all.set(added, leaves.length);
  const complete: Uint8Array[] = [];
  const first = Math.floor(size / TILE);
  let at = 0;
  for (; at + TILE * HASH_BYTES <= all.length; at += TILE * HASH_BYTES) {
    const hashes = all.slice(at, at + TILE * HASH_BYTES);
    tx.insert(auditTiles, tenant, { id: tileId(0, first + complete.length), hashes });
    complete.push(foldHashes(hashes, 0, TILE));
  }
  await growAbove(tx, tenant, first, complete);
  return all.slice(at);
}

/** Appends hashes after the first `size` of the level above the leaves. */
async function growAbove(
  tx: Tx,
  tenant: Tenant,
  size: number,
  hashes: readonly Uint8Array[],
): Promise<void> {
  let added = joined(hashes), place = size;
  for (let level = 1; added.length > 0; level++) {
    const complete: Uint8Array[] = [];
    for (let at = 0; at < added.length;) {
      const index = Math.floor(place / TILE);
      const there = (place - index * TILE) * HASH_BYTES;
      const taken = added.subarray(at, at + TILE * HASH_BYTES - there);
      const hashes = new Uint8Array(there + taken.length);
      hashes.set(taken, there);
      if (there > 0) {
        const before = (await tx.get(auditTiles, tenant, tileId(level, index)))?.hashes;
        // After a step that has committed since the tree was read, the tile has more hashes, which are the same as
        // those added here. Then the check of the tree's row fails.
        if (!before || before.length < there || !startsAlike(before, hashes, there)) {
          throw new Error(
            `the tree's tile ${tileId(level, index)} does not match the log at ${place}`,
          );
        }
        hashes.set(before.subarray(0, there));
      }
      const tile = { id: tileId(level, index), hashes };
      if (there > 0) tx.put(auditTiles, tenant, tile);
      else tx.insert(auditTiles, tenant, tile);
      if (hashes.length === TILE * HASH_BYTES) complete.push(foldHashes(hashes, 0, TILE));
      at += taken.length;
      place += taken.length / HASH_BYTES;
    }
    place = Math.floor((place - added.length / HASH_BYTES) / TILE);
    added = joined(complete);
  }
}

/** True when two tiles have no different hashes from number `from` on. */
function startsAlike(one: Uint8Array, other: Uint8Array, from: number): boolean {
  const end = Math.min(one.length, other.length);
  return Buffer.compare(one.subarray(from, end), other.subarray(from, end)) === 0;
}

function joined(hashes: readonly Uint8Array[]): Uint8Array {
  const all = new Uint8Array(hashes.length * HASH_BYTES);
  hashes.forEach((hash, at) => all.set(hash, at * HASH_BYTES));
  return all;
}
