import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { growTiles, rootOf } from "../../core/events/trail/tiles.ts";
import { Sequencer } from "../../core/events/trail/sequencer.ts";
import { GrowingTree, leafHash } from "../../core/protocol/checkpoints/merkle.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { EventLog } from "../../kv/log/log.ts";
import { auditTiles, auditTreeId, auditTrees, emptyTree } from "../../kv/records/audit.ts";
import { Store } from "../../kv/store/store.ts";
import { kvOver, MemoryKv } from "../simulation/memory_kv.ts";
import { ManualClock } from "../support/clock.ts";
import { EagerClock, faultyKv } from "../support/kv.ts";
import { type Random, random } from "../support/random.ts";

const HASH_BYTES = 32, TILE = 256;
const tenant = { org: "org_1", space: "live" } as const;
const TILE_OF_ZEROS = new Uint8Array(TILE * HASH_BYTES);

/** Appends a tile to the tree, as a step that commits `meanwhile` between its reads of the tree and of its tiles. */
async function grow(store: Store, meanwhile?: () => Promise<unknown>): Promise<void> {
  await store.transact(async (tx) => {
    const tree = await tx.get(auditTrees, tenant, auditTreeId(tenant)) ?? emptyTree(tenant);
    await meanwhile?.();
    meanwhile = undefined;
    const leaves = await growTiles(tx, tenant, tree, TILE_OF_ZEROS);
    tx.put(auditTrees, tenant, { ...tree, size: tree.size + TILE, leaves });
  });
}

for (const sole of [true, false]) {
  const where = sole ? "of this process" : "of another instance";

  Deno.test(`audit tree: a step that a step ${where} overtook starts again`, async () => {
    using kv = await Deno.openKv(":memory:");
    const stores = [1, 2].map(() =>
      new Store(kv, { clock: new ManualClock(), sole, hasQueue: false })
    );
    const [store, other] = [stores[0]!, stores[sole ? 0 : 1]!];
    await grow(store);
    await grow(store, () => grow(other));
    eq((await store.get(auditTrees, tenant, auditTreeId(tenant)))!.size, 3 * TILE);
    const tree = new GrowingTree();
    for (let n = 0; n < 3 * TILE; n++) tree.add(new Uint8Array(HASH_BYTES));
    deq(await rootOf(store, tenant, 3 * TILE), tree.root());
  });
}

Deno.test("audit tree: a tile that does not match the log is an error", async () => {
  using kv = await Deno.openKv(":memory:");
  for (const sole of [true, false]) {
    const store = new Store(kv, { clock: new ManualClock(), sole, hasQueue: false });
    for (const hashes of [0, 2].map((n) => new Uint8Array(n * HASH_BYTES))) {
      await store.transact((tx) => {
        tx.put(auditTrees, tenant, { ...emptyTree(tenant), size: TILE });
        tx.put(auditTiles, tenant, { id: "1.000000000000000", hashes });
      });
      await rejects(grow(store), /does not match the log at 1/);
    }
  }
});

const ROWS = 3_000;

/** An instance that appends events to one log and lets its tree grow. */
class Instance {
  readonly complaints: string[] = [];
  readonly store: Store;
  readonly log: EventLog;
  readonly sequencer: Sequencer;

  constructor(kv: Deno.Kv, clock: ManualClock, sole: boolean) {
    this.store = new Store(kv, { clock, sole, hasQueue: false });
    this.log = new EventLog(this.store, () => {});
    const log = { error: (_: string, { error }: { error: string }) => this.complaints.push(error) };
    const { store } = this;
    this.sequencer = new Sequencer({ store, log: this.log, ports: { clock, log } } as never);
    this.sequencer.start();
  }
}

/** Appends rows while the tree grows, over a store that answers in a random order and fails now and then. */
async function growAtRandom(dice: Random, instances: number): Promise<void> {
  const engine = new MemoryKv(), clock = new EagerClock();
  const turns = async () => {
    for (let turn = dice.below(4); turn > 0; turn--) await setImmediate();
  };
  const call = async <R>(effect: () => R): Promise<R> => {
    await turns();
    const answer = effect();
    await turns();
    return answer;
  };
  const kv = kvOver(engine, "tree", call, (deliver) => deliver());
  const faulty = faultyKv(kv, dice.unit);
  const all = Array.from({ length: instances }, () => new Instance(faulty, clock, instances === 1));
  let appended = 0, acknowledged = 0, reached = 0;
  const append = async () => {
    const id = `${String(appended++).padStart(8, "0")}-0000-4000-8000-000000000000`;
    const json = `{"actor":"a","event_id":"${id}","timestamp":"2030-01-01T00:00:00.000Z"}`;
    try {
      await dice.pick(all).store.transact((tx) => tx.append(tenant, "note", json));
      acknowledged++;
    } catch (error) {
      ok(error instanceof StoreUnavailableError, String(error));
    }
  };
  const reach = async ({ sequencer }: Instance) => {
    const before = acknowledged;
    try {
      const { size } = await sequencer.reach(tenant);
      ok(size >= before, `the tree has ${size} of ${before} rows`);
      reached++;
    } catch (error) {
      ok(error instanceof StoreUnavailableError, String(error));
    }
  };
  while (appended < ROWS) {
    const appends = Array.from({ length: 1 + dice.below(TILE) }, () => append);
    const reaches = Array.from({ length: 1 + dice.below(4) }, () => () => reach(dice.pick(all)));
    await Promise.all(
      dice.shuffle([...appends, ...reaches]).map(async (act) => {
        await turns();
        await act();
      }),
    );
    clock.advance(1_000);
    await reach(dice.pick(all));
  }
  for (const { complaints } of all) {
    deq(complaints.filter((text) => !text.startsWith("StoreUnavailableError")), []);
  }
  ok(reached > 0);
  for (const { sequencer } of all) await sequencer.stop();
  const last = new Instance(kv, clock, instances === 1);
  const { size } = await last.sequencer.reach(tenant);
  const tree = new GrowingTree();
  for (const { json } of await last.log.read(tenant, 0, 2 * ROWS)) tree.add(leafHash(json));
  eq(size, tree.size);
  deq(await rootOf(last.store, tenant, size), tree.root());
  await last.sequencer.stop();
}

for (const instances of [1, 3]) {
  for (let seed = 1; seed <= 6; seed++) {
    const name = `${instances} instance${instances === 1 ? "" : "s"}, seed ${seed}`;
    Deno.test(`Sequencer: overtaken and failed steps neither complain nor lose a row, ${name}`, () =>
      growAtRandom(random(seed), instances));
  }
}
