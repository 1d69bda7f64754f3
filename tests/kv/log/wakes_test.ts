import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { Tenant } from "../../../kv/store/collection.ts";
import { OUTBOX } from "../../../kv/log/line.ts";
import { SEQUENCING_LIMITS } from "../../../kv/log/sequencing.ts";
import { type FollowerRules, LogFollower } from "../../../kv/log/follow.ts";
import { pendingPrefix } from "../../../kv/log/pending.ts";
import { Bench, committing, overKv } from "../../support/kv.ts";
import { type Random, random } from "../../support/random.ts";

const SEEDS = Number(Deno.env.get("RELAY_TEST_SEEDS") ?? 12);
const LIMITS = {
  ...SEQUENCING_LIMITS,
  inlineBytes: 180,
  segmentBytes: 900,
  atomicBytes: 2_000,
  atomicMutations: 30,
};
const ORGS = ["a", "b", "c", "d"];
const at = (org: string): Tenant => ({ org, space: "live" });
/** Every follower but the second wants only events of this type. */
const EVENT = "e";
const FOLLOWERS: readonly Partial<FollowerRules>[] = [
  { name: "eager", wants: (type) => type === EVENT, bufferedEvents: 12 },
  { name: "lazy", lazy: true, wants: () => true, bufferedEvents: 12, tenantsAtOnce: 3 },
  { name: "bare", lazy: true, wants: (type) => type === EVENT },
];

const turns = async (count: number) => {
  for (; count > 0; count--) await new Promise<void>((resolve) => setImmediate(resolve));
};

/** An engine that is slow at times and may lose replies. */
class Engine {
  faulty = false;
  slow = true;

  constructor(readonly inner: Deno.Kv, private readonly dice: Random) {}

  readonly kv = (): Deno.Kv =>
    overKv(committing(this.inner, (commit) => this.#commit(commit)), {
      list: ((...args: Parameters<Deno.Kv["list"]>) => this.#list(args)) as never,
    });

  async pause(): Promise<void> {
    if (this.slow && this.dice.chance(0.3)) await turns(this.dice.below(4));
  }

  async #commit<R>(commit: () => Promise<R>): Promise<R> {
    await this.pause();
    const roll = this.faulty ? this.dice.unit() : 0.5;
    if (roll < 0.05) throw new TypeError("database is locked");
    if (roll < 0.1) throw new Error("reset before");
    const result = await commit();
    await this.pause();
    if (roll > 0.94) throw new Error("reset after");
    return result;
  }

  async *#list(args: Parameters<Deno.Kv["list"]>) {
    await this.pause();
    for await (const entry of this.inner.list(...args)) {
      yield entry;
      await this.pause();
    }
  }
}

for (let seed = 1; seed <= SEEDS; seed++) {
  Deno.test(`log, seed ${seed}: every follower handles all events by itself, in order, once`, async () => {
    const dice = random(seed);
    const engine = new Engine(await Deno.openKv(":memory:"), dice);
    const faults = seed % 3 !== 0;
    await using bench = new Bench(engine.kv(), "log", { sole: true, hasQueue: false }, LIMITS);
    const { store, log, clock } = bench;
    const handled = new Map<string, number[]>(), told = new Map<string, number[]>();
    const follow = (rules: Partial<FollowerRules>) =>
      new LogFollower(store, log, {
        ...rules as FollowerRules,
        eventsPerStep: 5,
        cares: () => Promise.resolve(true),
        step: async (tx, tenant, events) => {
          await engine.pause();
          const some = events.slice(0, 1 + dice.below(5)).map(({ seq }) => seq);
          const key = `${rules.name}/${tenant.org}`;
          tx.afterCommit(() => handled.set(key, [...handled.get(key) ?? [], ...some]));
          return { done: some.length, part: "" };
        },
      }, (error) => bench.errors.push(error));
    const followers = FOLLOWERS.map(follow);
    log.onSequenced(({ org }, events) =>
      told.set(org, [...told.get(org) ?? [], ...events.map(({ seq }) => seq)])
    );
    const acknowledged: string[] = [];
    let rows = 0;
    const act = async () => {
      const org = dice.chance(0.6) ? "a" : dice.pick(ORGS);
      const type = dice.chance(0.5) ? EVENT : "other";
      const some = Array.from(
        { length: 1 + dice.below(3) },
        () => JSON.stringify(`${org} ${++rows} ${"x".repeat(dice.below(120))}`),
      );
      const appending = store.transact((tx) =>
        some.forEach((json) => tx.append(at(org), type, json))
      );
      await appending.then(() => acknowledged.push(...some), () => {});
    };
    log.wake();
    for (let round = 0; round < 40; round++) {
      engine.faulty = faults && dice.chance(0.4);
      const acts = Array.from({ length: dice.below(5) }, act);
      if (dice.chance(0.3)) clock.advance(dice.pick([2, 250, 750, 1_000]));
      if (dice.chance(0.2)) await turns(3);
      if (dice.chance(0.15)) acts.push(log.flush().catch(() => {}));
      if (dice.chance(0.1)) acts.push(followers[1]!.catchUp(at("a")).catch(() => {}));
      if (dice.chance(0.5)) await Promise.all(acts);
      else await turns(2);
    }
    engine.faulty = engine.slow = false;
    for (let second = 0; second < 6; second++) {
      for (let n = 0; n < 30; n++) {
        // Reads from now on come after earlier requests to the engine.
        await engine.inner.get(OUTBOX);
        await turns(1);
        for (const follower of followers) await follower.idle();
        await store.idle();
      }
      clock.advance(1_000);
    }

    deq(await Array.fromAsync(engine.inner.list({ prefix: OUTBOX })), []);
    const found = new Set<string>();
    for (const org of ORGS) {
      const events = await log.read(at(org), 0, 10_000);
      const seqs = events.map(({ seq }) => seq);
      deq(seqs, events.map((_, n) => n + 1), "dense");
      deq(told.get(org) ?? [], seqs, "reported once, in order");
      const numbers = events.map(({ json }) => Number(JSON.parse(json).split(" ")[1]));
      deq(numbers, numbers.toSorted((a, b) => a - b), "the order of callers");
      events.forEach(({ json }) => found.add(json));
      for (const { name, wants } of FOLLOWERS) {
        const last = events.findLast(({ type }) => wants!(type, at(org)))?.seq ?? 0;
        const cursor = await engine.inner.get<{ seq: number }>([org, "live", "log_cursors", name!]);
        ok((cursor.value?.seq ?? 0) >= last, `${name} of ${org} stands before ${last}`);
        const own = handled.get(`${name}/${org}`) ?? [];
        deq(own, [...new Set(own)].sort((a, b) => a - b), `${name}: once, in order`);
      }
    }
    deq(acknowledged.filter((json) => !found.has(json)), [], "no acknowledged event is missing");
    // A lazy follower may leave a pending key, which it clears with the next events.
    deq(await Array.fromAsync(engine.inner.list({ prefix: pendingPrefix("eager") })), []);
  });
}
