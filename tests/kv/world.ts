import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Tenant } from "../../kv/store/collection.ts";
import { DuplicateError, StoreUnavailableError } from "../../kv/engine/errors.ts";
import { LogFollower } from "../../kv/log/follow.ts";
import { assertStored, Bench, committing, type Item, item, itemsNamed } from "../support/kv.ts";
import type { Random } from "../support/random.ts";

type Told = { op: number } & ({ put: Item } | { drop: string });

const seen = itemsNamed("seen", 0);
const IDS = ["a", "b", "c", "d"];
const SLUGS = ["s1", "s2", "s3"];
/** Two checks each and one for the cursor: a store of ten checks can take that. */
const STEP_EVENTS = 4;
/** Few, so that some steps find their events in memory and others read them. */
const BUFFERED_EVENTS = 12;

/** So small that most batches take several atomics, and some of them within one tenant. */
const LIMITS = {
  atomicBytes: 500,
  atomicMutations: 5,
  segmentBytes: 400,
  inlineBytes: 250,
  bytes: 5_000,
  rows: 10,
};

/** One process: a store, its log and a follower, which `kill` cuts off at once. */
export class Life {
  readonly bench: Bench;
  readonly follower: LogFollower;
  /** Numbers that listeners got twice or out of order. */
  readonly repeated: number[] = [];
  readonly #told = new Map<string, number>();
  #dead = false;

  constructor(kv: Deno.Kv, sole: boolean) {
    const mortal = committing(kv, (commit) => {
      if (this.#dead) throw new Error("this process is dead");
      return commit();
    });
    this.bench = new Bench(mortal, "sim", { sole, hasQueue: false }, LIMITS);
    this.follower = new LogFollower(this.bench.store, this.bench.log, {
      name: "sim",
      bufferedEvents: BUFFERED_EVENTS,
      wants: () => true,
      cares: () => Promise.resolve(true),
      step: async (tx, tenant, events) => {
        const some = events.slice(0, STEP_EVENTS);
        for (const { seq } of some) {
          const before = await tx.get(seen, tenant, `${seq}`);
          tx.put(seen, tenant, item(`${seq}`, { n: (before?.n ?? 0) + 1 }));
        }
        return { done: some.length, part: "" };
      },
    }, (error) => this.bench.errors.push(error));
    this.bench.log.onSequenced((tenant, events) => {
      for (const { seq } of events) {
        if (seq <= (this.#told.get(tenant.space) ?? 0)) this.repeated.push(seq);
        this.#told.set(tenant.space, seq);
      }
    });
    this.follower.wake();
  }

  kill(): void {
    this.#dead = true;
  }
}

/** The answers that clients of several processes got, to compare with the store. */
export class World {
  readonly #acknowledged = new Set<string>();
  readonly #unknown = new Set<string>();
  readonly #refused = new Set<string>();
  #ops = 0;

  constructor(readonly dice: Random) {}

  /** One client's change, with its event in the same transaction. */
  async act({ bench: { store, items, tenant, other } }: Life): Promise<void> {
    const { dice } = this, op = ++this.#ops;
    const where = dice.pick([tenant, other]), id = dice.pick(IDS), slug = dice.pick(SLUGS);
    const remove = dice.chance(0.25), name = `${where.space}/${op}`;
    let before: Item | null = null;
    try {
      await store.transact(async (tx) => {
        before = await tx.get(items, where, id);
        const put = item(id, {
          slug,
          mail: dice.pick([null, "m"]),
          n: (before?.n ?? 0) + 1,
          team: `op ${op}`,
        });
        if (remove) tx.delete(items, where, id);
        else tx.put(items, where, put);
        const told: Told = remove ? { op, drop: id } : { op, put };
        tx.append(where, "changed", JSON.stringify(told));
      });
      this.#acknowledged.add(name);
      const after = await store.get(items, where, id);
      if (before !== null) ok(after?.team !== before["team"], `seed ${dice.seed}: an old value`);
    } catch (error) {
      if (error instanceof DuplicateError) this.#refused.add(name);
      else if (error instanceof StoreUnavailableError) this.#unknown.add(name);
      else throw error;
    }
  }

  /** While nothing is in flight, cache and engine agree. */
  async assertFresh({ bench, repeated }: Life, kv: Deno.Kv): Promise<void> {
    const { store, items, tenant, other } = bench;
    deepStrictEqual(repeated, [], `seed ${this.dice.seed}`);
    for (const where of [tenant, other]) {
      for (const id of IDS) {
        const { value } = await kv.get([where.org, where.space, items.name, id]);
        deepStrictEqual(await store.get(items, where, id), value, `seed ${this.dice.seed}`);
      }
      for (const slug of SLUGS) {
        const { value } = await kv.get([where.org, where.space, `${items.name}.slug`, slug]);
        const found = await store.find(items, where, "slug", [slug]);
        strictEqual(found?.id ?? null, value, `seed ${this.dice.seed}`);
      }
    }
  }

  /** The log holds every acknowledged change once and no refused one, and its replay gives the rows. */
  async assertTrue({ bench, follower }: Life, kv: Deno.Kv): Promise<void> {
    await bench.log.flush();
    follower.wake();
    await follower.idle();
    const seed = `seed ${this.dice.seed}`;
    const model = new Map<string, { tenant: Tenant; record: Item }>();
    const logged = new Set<string>();
    for (const tenant of [bench.tenant, bench.other]) {
      const events = await bench.log.read(tenant, 0, 1e6);
      deepStrictEqual(events.map(({ seq }) => seq), events.map((_, at) => at + 1), seed);
      for (const { json } of events) {
        const told: Told = JSON.parse(json);
        const name = `${tenant.space}/${told.op}`;
        ok(!logged.has(name), `${seed}: ${name} is in the log twice`);
        ok(!this.#refused.has(name), `${seed}: ${name} was refused and is in the log`);
        logged.add(name);
        if ("drop" in told) model.delete(`${tenant.space}/${told.drop}`);
        else {
          const at = `${tenant.space}/${told.put.id}`;
          strictEqual(told.put.n, (model.get(at)?.record.n ?? 0) + 1, `${seed}: a lost update`);
          model.set(at, { tenant, record: told.put });
        }
      }
      const handled = await bench.store.list(seen, tenant, { limit: 10_000 });
      deepStrictEqual(handled.items.map(({ n }) => n), events.map(() => 1), seed);
    }
    for (const name of this.#acknowledged) ok(logged.has(name), `${seed}: ${name} is missing`);
    for (const name of logged) ok(this.#acknowledged.has(name) || this.#unknown.has(name), seed);
    await assertStored(kv, bench.items, model);
  }

  /** Proves that a run exercised faults. */
  get figures(): { acknowledged: number; unknown: number; refused: number } {
    const [acknowledged, unknown, refused] = [
      this.#acknowledged.size,
      this.#unknown.size,
      this.#refused.size,
    ];
    return { acknowledged, unknown, refused };
  }
}
