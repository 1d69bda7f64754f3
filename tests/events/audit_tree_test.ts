import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { GrowingTree, leafHash } from "../../core/protocol/checkpoints/merkle.ts";
import {
  makeCheckpoint,
  newestCheckpoint,
  proveEvent,
} from "../../core/events/trail/checkpoints.ts";
import { findEvent } from "../../core/events/trail/event_id_index.ts";
import { rootOf } from "../../core/events/trail/tiles.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { auditIdParts, auditIds, auditTrees, emptyTree } from "../../kv/records/audit.ts";
import { eventJson } from "../../core/events/events.ts";
import { type Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";
import { verifyInclusion } from "../support/inclusion.ts";

const live = ({ org }: Account) => ({ org, space: "live" } as const);

/** Appends rows directly to the log. */
async function append(world: World, owner: Account, n: number): Promise<void> {
  const { entropy } = world.app.ports;
  for (let from = 0; from < n; from += 400) {
    const some = Math.min(400, n - from);
    await Promise.all(Array.from({ length: some }, async (_, at) => {
      const json = eventJson({ ...world.app, actor: { id: "somebody" } }, live(owner), {
        type: "note",
        resource: { type: "external", id: "somebody" },
        details: { at: from + at, event_id: `,"event_id":"${entropy.uuid()}"` },
      });
      await world.app.store.append(live(owner), "note", json);
    }));
  }
}

async function rootByHand(world: World, owner: Account, size: number): Promise<Uint8Array> {
  const tree = new GrowingTree();
  const rows = await world.app.log.read(live(owner), 0, size);
  for (const { json } of rows) tree.add(leafHash(json));
  eq(tree.size, size);
  return tree.root();
}

Deno.test("Sequencer: every event becomes a leaf within a second, whatever the sizes of the steps", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  let size = 2;
  for (const more of [0, 1, 253, 1, 255, 256, 257, 700, 3]) {
    await append(world, owner, more);
    size += more;
    await world.advance(1_000);
    const trees = { ...live(owner), kind: auditTrees.name };
    const [tree] = await rawRows<{ size: number }>(world.kv, trees);
    eq(tree!.value.size, size);
    deq(await rootOf(world.app.store, live(owner), size), await rootByHand(world, owner, size));
  }
  for (const old of [1, 2, 255, 256, 257, 512, 1000]) {
    deq(await rootOf(world.app.store, live(owner), old), await rootByHand(world, owner, old));
  }
});

Deno.test("rootOf: finds a tile that is completed during the read", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await append(world, owner, 198);
  await world.settle();
  const { store } = world.app;
  let filled = false;
  const get: Reader["get"] = async (of, tenant, id) => {
    const found = await store.get(of, tenant, id);
    if (!filled) {
      filled = true;
      await append(world, owner, 100);
      await world.settle();
    }
    return found;
  };
  const reader = { ...{} as Reader, get };
  deq(await rootOf(reader, live(owner), 200), await rootByHand(world, owner, 200));
});

Deno.test("Sequencer: a growing log gets a checkpoint each minute, an idle one gets none", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.advance(61_000);
  const first = await newestCheckpoint(world.app, live(owner));
  eq(first!.size, 2);
  await append(world, owner, 5);
  await world.advance(61_000);
  const second = await newestCheckpoint(world.app, live(owner));
  eq(second!.size, 7);
  await world.advance(600_000);
  deq(await newestCheckpoint(world.app, live(owner)), second);
  deq(await makeCheckpoint(world.app, world.app.audit, live(owner)), second);
});

Deno.test("findEvent: finds each of 70,000 events, also after sorting, and no other", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await append(world, owner, 70_000);
  await world.settle();
  const blocks = await world.app.store.list(auditIds, live(owner), { limit: 100 });
  eq(blocks.items.length, Math.floor((70_002 - 65_536) / 512));
  for (const seq of [1, 2, 3, 2_048, 2_049, 40_000, 65_536, 65_537, 70_002]) {
    const [row] = await world.app.log.read(live(owner), seq - 1, 1);
    const id = JSON.parse(row!.json).event_id;
    const proof = await proveEvent(world.app, world.app.audit, live(owner), id);
    deq([proof.seq, proof.row], [seq, row!.json]);
    const { checkpoint, path, leaf_hash } = proof;
    const [leaf, root] = [leaf_hash, checkpoint.root_hash].map((text) =>
      Uint8Array.fromBase64(text)
    );
    const hashes = path.map((text) => Uint8Array.fromBase64(text));
    ok(verifyInclusion(leaf!, seq - 1, checkpoint.tree_size, hashes, root!));
    deq(leaf, leafHash(row!.json));
  }

  // A search that began before the ids were sorted and continues afterwards.
  const { store } = world.app;
  let early = true;
  const get: Reader["get"] = async (of, tenant, id) => {
    const isPart = of.name === auditIdParts.name;
    if (early && isPart) {
      early = false;
      return null;
    }
    return await store.get(of, tenant, id);
  };
  const app = { ...world.app, store: { get } as typeof store };
  const [row] = await world.app.log.read(live(owner), 40_000, 1);
  eq((await findEvent(app, live(owner), JSON.parse(row!.json).event_id))?.seq, 40_001);
  ok(!early);

  // A search that began before the group was complete.
  const { id: treeId } = emptyTree(live(owner));
  const grown = await store.get(auditTrees, live(owner), treeId);
  const before = { ...grown!, size: 65_536 - 512, ids: new Uint8Array() };
  const late: Reader["get"] = async (of, tenant, id) =>
    of.name === auditTrees.name ? before as never : await store.get(of, tenant, id);
  const slow = { ...world.app, store: { get: late } as typeof store };
  eq((await findEvent(slow, live(owner), JSON.parse(row!.json).event_id))?.seq, 40_001);
});
