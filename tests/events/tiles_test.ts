import { rejects } from "node:assert/strict";
import { growTiles } from "../../core/events/trail/tiles.ts";
import { auditTiles } from "../../kv/records/audit.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";

const HASH_BYTES = 32, TILE = 256;
const tenant = { org: "org_1", space: "live" } as const;

/** Grows a tree of eleven tiles whose next level already has the hash of the twelfth. */
async function grow(sole: boolean): Promise<void> {
  using kv = await Deno.openKv(":memory:");
  const store = new Store(kv, { clock: new ManualClock(), sole, hasQueue: false });
  const hashes = new Uint8Array(12 * HASH_BYTES);
  await store.transact((tx) => tx.put(auditTiles, tenant, { id: "1.000000000000000", hashes }));
  const read = { size: 11 * TILE, leaves: new Uint8Array() };
  await store.transact((tx) => growTiles(tx, tenant, read, new Uint8Array(TILE * HASH_BYTES)));
}

Deno.test("audit tree: a tile that another instance grew since the tree was read is no error", async () => {
  await grow(false);
});

Deno.test("audit tree: a tile that is longer than its tree is an error where nobody else writes", async () => {
  await rejects(grow(true), /does not end at 11/);
});
