import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { setImmediate } from "node:timers";
import { type Change, deleteKey, type Mutation, sumKey } from "../../../kv/store/change.ts";
import { Committer } from "../../../kv/commit/commit.ts";
import { OUTBOX } from "../../../kv/log/line.ts";
import { CHECKS_MAX } from "../../../kv/engine/engine_limits.ts";
import { coalescedLine } from "../../../kv/store/coalesced.ts";
import { Tx } from "../../../kv/store/tx.ts";
import { Bench as StoreBench, committing, EagerClock } from "../../support/kv.ts";
import { random } from "../../support/random.ts";
import { change, check, event, set } from "./changes.ts";

/** A committer over an engine in memory that counts its commits and can delay them. */
class Bench implements AsyncDisposable {
  commits = 0;
  /** Delays the next commits. */
  held: Promise<void> | null = null;
  readonly committer: Committer;

  private constructor(readonly kv: Deno.Kv) {
    const counting = committing(kv, async (commit) => {
      this.commits++;
      if (this.held !== null) await this.held;
      return await commit();
    });
    this.committer = new Committer(counting, {
      clock: new EagerClock(),
      checksMax: CHECKS_MAX,
      after: () => {},
      log: () => ({ sequence: () => null, waiting: () => {} }),
      denied: () => {},
      health: { record: () => {} },
    });
  }

  static async open(): Promise<Bench> {
    return new Bench(await Deno.openKv(":memory:"));
  }

  submit(...changes: Change[]): Promise<(string | null)[]> {
    return Promise.all(changes.map((one) => this.committer.submit(one)));
  }

  async outbox(): Promise<string[]> {
    const rows = await Array.fromAsync(this.kv.list<Uint8Array>({ prefix: OUTBOX }));
    const lines = rows.flatMap(({ value }) => new TextDecoder().decode(value).split("\n"));
    return lines.map((line) => line.split("\t")[2]!);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.committer.close();
    this.kv.close();
  }
}

const committed = (outcome: string | null) => outcome !== null;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** A change whose commit is in flight until it is released. */
async function underWay(bench: Bench, first: Change) {
  const { promise, resolve } = Promise.withResolvers<void>();
  bench.held = promise;
  const outcome = bench.committer.submit(first);
  while (bench.commits === 0) await turn();
  bench.held = null;
  return { outcome, letGo: resolve };
}

const reorderable = (...mutations: Mutation[]): Change => change({ mutations, reorderable: true });
const reorderables = (count: number) =>
  Array.from({ length: count }, (_, n) => reorderable(set(["a", n], n)));
const sum = (key: string): Mutation => sumKey([key], 1n);

Deno.test("Committer.submit: many reorderable changes are committed in parallel, few of them or others are not", async () => {
  await using bench = await Bench.open();
  const first = await underWay(bench, event("first"));
  const few = bench.submit(...reorderables(31));
  const second = bench.committer.submit(event("second"));
  for (let n = 0; n < 10; n++) await turn();
  strictEqual(bench.commits, 1);
  const many = bench.submit(...reorderables(1));
  ok((await few).concat(await many).every(committed));
  strictEqual(bench.commits, 2);
  deepStrictEqual(await bench.outbox(), []);
  first.letGo();
  ok((await first.outcome)! < (await second)!);
  strictEqual(bench.commits, 3);
  deepStrictEqual(await bench.outbox(), ["first", "second"]);
});

const HELD = change({
  checks: [check(["read"], null)],
  mutations: [set(["written"], new Deno.KvU64(0n)), sum("added")],
});
const MEETING: Record<string, Change> = {
  "reads what it writes": change({ checks: [check(["written"], null)] }),
  "reads what it adds to": change({ checks: [check(["added"], null)] }),
  "writes what it reads": reorderable(set(["read"], 1)),
  "writes what it writes": reorderable(set(["written"], 1)),
  "writes what it adds to": reorderable(deleteKey(["added"])),
  "adds to what it reads": reorderable(sum("read")),
  "adds to what it writes": reorderable(sum("written")),
};

for (const [what, meeting] of Object.entries(MEETING)) {
  Deno.test(`Committer.submit: a reorderable change waits for a commit when it ${what}`, async () => {
    await using bench = await Bench.open();
    const first = await underWay(bench, HELD);
    let ended = false;
    const last = bench.committer.submit({ ...meeting, reorderable: true }).then(() => ended = true);
    ok((await bench.submit(...reorderables(40))).every(committed));
    strictEqual(ended, false);
    await turn();
    // Nothing overtakes it while it waits, or it could wait for ever.
    const more = bench.submit(...reorderables(40));
    for (let n = 0; n < 10; n++) await turn();
    strictEqual(bench.commits, 2);
    first.letGo();
    await Promise.all([last, more]);
    ok(await first.outcome !== null);
  });
}

Deno.test("Committer.submit: reorderable changes may add to what the commit in flight adds to", async () => {
  await using bench = await Bench.open();
  const first = await underWay(bench, HELD);
  ok((await bench.submit(...Array(40).fill(reorderable(sum("added"))))).every(committed));
  first.letGo();
  await first.outcome;
  strictEqual((await bench.kv.get<Deno.KvU64>(["added"])).value?.value, 41n);
});

Deno.test("Committer.close: waits for the parallel commit and for the changes behind it", async () => {
  await using bench = await Bench.open();
  const first = await underWay(bench, HELD);
  const gate = Promise.withResolvers<void>();
  bench.held = gate.promise;
  const beside = bench.submit(...reorderables(40));
  while (bench.commits === 1) await turn();
  bench.held = null;
  first.letGo();
  await first.outcome;
  const after = bench.committer.submit(change({ mutations: [set(["a", 0], "later")] }));
  const closed = bench.committer.close();
  for (let n = 0; n < 10; n++) await turn();
  strictEqual(bench.commits, 2);
  gate.resolve();
  await closed;
  ok((await beside).every(committed));
  ok(await after !== null);
  strictEqual((await bench.kv.get(["a", 0])).value, "later");
});

Deno.test("Committer.submit: however changes are reordered, nothing is lost, and events keep their order", async () => {
  for (let seed = 1; seed <= 10; seed++) {
    const dice = random(seed);
    await using bench = await Bench.open();
    const counted = new Map<string, number>(), lines: string[] = [];
    const increment = async (name: string) => {
      for (let won = false; !won;) {
        const { value, versionstamp } = await bench.kv.get<number>([name]);
        won = await bench.committer.submit(change({
          checks: [check([name], versionstamp)],
          mutations: [set([name], (value ?? 0) + 1), sum("all")],
          reorderable: true,
        })) !== null;
      }
    };
    const work: Promise<unknown>[] = [];
    for (let n = 0; n < 400; n++) {
      if (dice.unit() < 0.1) {
        lines.push(`line ${n}`);
        work.push(bench.committer.submit({ ...event(`line ${n}`), mutations: [sum("all")] }));
      } else {
        const name = `k${dice.below(dice.pick([20, 300]))}`;
        counted.set(name, (counted.get(name) ?? 0) + 1);
        work.push(increment(name));
      }
      if (dice.unit() < 0.02) await turn();
    }
    await Promise.all(work);
    for (const [name, times] of counted) {
      strictEqual((await bench.kv.get([name])).value, times, `seed ${seed}`);
    }
    strictEqual((await bench.kv.get<Deno.KvU64>(["all"])).value?.value, 400n, `seed ${seed}`);
    deepStrictEqual(await bench.outbox(), lines, `seed ${seed}`);
  }
});

Deno.test("Tx.allowReordering: a change with an event, a coalesced line or an alarm keeps its place", async () => {
  await using bench = await StoreBench.memory();
  const { store } = bench;
  const of = async (work: (tx: Tx) => void) => {
    const tx = new Tx(store);
    tx.allowReordering();
    work(tx);
    return (await tx.change()).reorderable;
  };
  strictEqual(await of(() => {}), true);
  strictEqual(await of((tx) => tx.append(bench.tenant, "e", "{}")), false);
  strictEqual(await of((tx) => tx.coalesce(coalescedLine(["n"], "text"))), false);
  strictEqual(await of((tx) => tx.alarm(1_000)), false);
  strictEqual((await new Tx(store).change()).reorderable, false);
});
