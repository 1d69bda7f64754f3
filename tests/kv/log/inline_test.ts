import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { OUTBOX } from "../../../kv/log/line.ts";
import { SEQUENCING_LIMITS } from "../../../kv/log/sequencing.ts";
import { LogFollower } from "../../../kv/log/follow.ts";
import { SEQUENCE_LAZY_MS } from "../../../kv/log/log.ts";
import { pendingPrefix } from "../../../kv/log/pending.ts";
import { segmentsOf } from "../../../kv/log/segments.ts";
import { Bench, committing, item, losesReply, overKv, shared } from "../../support/kv.ts";

/** Two of these rows suffice for a segment, and nine fill one. */
const row = (n: number) => `"${n} ${"x".repeat(80)}"`;
const LIMITS = { ...SEQUENCING_LIMITS, inlineBytes: 180, segmentBytes: 900 };
const SOLE = { sole: true, hasQueue: true };

type Options = { sole?: boolean; direct?: boolean };

const bench = (kv: Deno.Kv, { sole = true, direct = true }: Options = {}) =>
  new Bench(kv, "x", { ...SOLE, sole }, {
    ...LIMITS,
    inlineBytes: direct ? LIMITS.inlineBytes : Infinity,
  });

/** A bench whose log has its first event and an empty outbox. */
async function started(kv: Deno.Kv, options?: Options): Promise<Bench> {
  const made = bench(kv, options);
  await made.store.append(made.tenant, "t", row(0));
  await made.log.flush();
  return made;
}

/** Appends events in one commit. */
const append = ({ store, tenant }: Bench, ...numbers: number[]) =>
  Promise.all(numbers.map((n) => store.append(tenant, "t", row(n))));

const keysOf = async (kv: Deno.Kv, prefix: Deno.KvKey) =>
  (await Array.fromAsync(kv.list({ prefix }))).map(({ key }) => key);

const rowsOf = async ({ log, tenant }: Bench) => {
  const events = await log.read(tenant, 0, 1_000);
  deepStrictEqual(events.map(({ seq }) => seq), events.map((_, at) => at + 1));
  return events.map(({ json }) => json);
};

const rows = (count: number) => Array.from({ length: count }, (_, n) => row(n));

Deno.test("InlineSequencing: events that suffice for a segment get their numbers in their own commit", async () => {
  let commits = 0;
  const kv = committing(await Deno.openKv(":memory:"), (commit) => (commits++, commit()));
  await using one = await started(kv);
  const { log, tenant } = one;
  log.follow({ name: "f", wants: (type) => type === "t" });
  const told: number[] = [];
  log.onSequenced((_, events) => told.push(...events.map(({ seq }) => seq)));
  commits = 0;
  await append(one, 1, 2, 3);
  deepStrictEqual(told, [2, 3, 4]);
  deepStrictEqual(await rowsOf(one), rows(4));
  deepStrictEqual(await keysOf(kv, OUTBOX), []);
  deepStrictEqual(await keysOf(kv, pendingPrefix("f")), [[...pendingPrefix("f"), "org_x", "live"]]);
  await log.flush();
  strictEqual(await log.head(tenant), 4);
  strictEqual(commits, 1);
});

Deno.test("InlineSequencing: rows of the outbox join the commit and come first", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = await started(kv);
  await append(one, 1);
  strictEqual((await keysOf(kv, OUTBOX)).length, 1);
  await append(one, 2);
  deepStrictEqual(await keysOf(kv, OUTBOX), []);
  await append(one, 3);
  await append(one, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13);
  deepStrictEqual(await rowsOf(one), rows(14));
  deepStrictEqual(await keysOf(kv, OUTBOX), []);
});

Deno.test("InlineSequencing: small amounts of many tenants wait in the outbox", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = await started(kv);
  const { store, log } = one;
  const spread = (n: number) => store.append({ org: `o${n}`, space: "live" }, "t", row(n));
  const numbers = Array.from({ length: 8 }, (_, n) => n);
  await Promise.all(numbers.map(spread));
  await log.flush();
  await Promise.all(numbers.map(spread));
  strictEqual((await keysOf(kv, OUTBOX)).length, 1);
  await Promise.all([...numbers, ...numbers].map(spread));
  deepStrictEqual(await keysOf(kv, OUTBOX), []);
  for (const n of numbers) {
    const events = await log.read({ org: `o${n}`, space: "live" }, 0, 9);
    deepStrictEqual(
      events.map(({ seq, json }) => [seq, json]),
      [1, 2, 3, 4].map((s) => [s, row(n)]),
    );
  }
});

for (const options of [{ sole: false }, { direct: false }]) {
  Deno.test(`InlineSequencing: off with ${JSON.stringify(options)}, with the same log`, async () => {
    const kv = await Deno.openKv(":memory:");
    await using one = await started(kv, options);
    await append(one, 1, 2, 3);
    strictEqual((await keysOf(kv, OUTBOX)).length, 1);
    await one.log.flush();
    deepStrictEqual(await rowsOf(one), rows(4));
  });
}

Deno.test("InlineSequencing: a process that takes over after any commit goes on at the log's end", async () => {
  const sizes = [1, 3, 1, 1, 4, 12, 1, 2];
  for (let cut = 0; cut <= sizes.length; cut++) {
    const engine = await Deno.openKv(":memory:");
    let one = await started(shared(engine)), next = 1;
    for (const [at, size] of sizes.entries()) {
      if (at === cut) one = bench(shared(engine));
      await append(one, ...Array.from({ length: size }, () => next++));
    }
    const last = bench(engine);
    await last.log.flush();
    deepStrictEqual(await rowsOf(last), rows(next), `cut before ${cut}`);
    await last[Symbol.asyncDispose]();
  }
});

Deno.test("InlineSequencing: the segments hold the same events as those of a batch", async () => {
  const texts: string[][] = [];
  for (const direct of [true, false]) {
    await using one = await started(await Deno.openKv(":memory:"), { direct });
    for (const size of [3, 1, 20, 1, 1, 2]) {
      await append(one, ...Array.from({ length: size }, (_, n) => n));
    }
    await one.log.flush();
    const segments = one.kv.list<Uint8Array>({ prefix: segmentsOf(one.tenant) });
    const values = await Array.fromAsync(segments, ({ value }) => value);
    for (const { length } of values) ok(length <= LIMITS.segmentBytes);
    texts.push(values.flatMap((value) => new TextDecoder().decode(value).split("\n")));
  }
  deepStrictEqual(texts[0], texts[1]);
});

for (const made of [true, false]) {
  const what = made ? "made" : "not made";
  Deno.test(`InlineSequencing: listeners hear at most once of a commit that was ${what} and whose reply is lost`, async () => {
    const { kv, loseNext } = losesReply(await Deno.openKv(":memory:"), made);
    await using one = await started(kv);
    const told: number[] = [];
    one.log.onSequenced((_, events) => told.push(...events.map(({ seq }) => seq)));
    await append(one, 1);
    loseNext();
    await rejects(append(one, 2, 3));
    strictEqual(one.clock.pending, 1, "no timer would find out its outcome");
    // The next events cannot know their numbers, so they wait in the outbox.
    await append(one, 4, 5);
    strictEqual(told.length, 0);
    await one.log.flush();
    const all = made ? [0, 1, 2, 3, 4, 5] : [0, 1, 4, 5];
    deepStrictEqual(await rowsOf(one), all.map(row));
    deepStrictEqual(told, all.slice(1).map((_, at) => at + 2));
    await append(one, 6, 7);
    deepStrictEqual(await rowsOf(one), [...all, 6, 7].map(row));
  });
}

Deno.test("InlineSequencing: a failed check drops only its own events and uses no number", async () => {
  await using one = await started(await Deno.openKv(":memory:"));
  const { store, items, tenant } = one;
  await one.put(item("a"));
  const change = (n: number) =>
    store.transact(async (tx) => {
      const before = (await tx.get(items, tenant, "a"))!;
      tx.put(items, tenant, { ...before, n: before.n + 1 });
      tx.append(tenant, "t", row(n));
    });
  await Promise.all([change(1), change(2), change(3), append(one, 4, 5, 6)]);
  await one.log.flush();
  deepStrictEqual((await rowsOf(one)).toSorted(), rows(7));
  strictEqual((await store.get(items, tenant, "a"))!.n, 3);
});

Deno.test("InlineSequencing: an unknown segment is not overwritten", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = await started(kv);
  const key = [...segmentsOf(one.tenant), 2], there = new Uint8Array([1]);
  await kv.set(key, there);
  await append(one, 1, 2, 3);
  deepStrictEqual((await kv.get(key)).value, there);
  strictEqual((await keysOf(kv, OUTBOX)).length, 3, "each caller's events alone");
  await kv.delete(key);
});

Deno.test("InlineSequencing: events committed while a batch runs come after it", async () => {
  const engine = await Deno.openKv(":memory:");
  const looked = Promise.withResolvers<void>(), held = Promise.withResolvers<void>();
  let holding = false;
  async function* look(...args: Parameters<Deno.Kv["list"]>) {
    const found = await Array.fromAsync(engine.list(...args));
    if (holding) {
      holding = false;
      looked.resolve();
      await held.promise;
    }
    yield* found;
  }
  const kv = overKv(engine, { list: look as unknown as Deno.Kv["list"] });
  await using one = await started(kv);
  await append(one, 1);
  holding = true;
  const flushed = one.log.flush();
  await looked.promise;
  await append(one, 2, 3, 4);
  held.resolve();
  await flushed;
  strictEqual((await keysOf(engine, OUTBOX)).length, 1);
  await append(one, 5, 6);
  deepStrictEqual(await rowsOf(one), rows(7));
  deepStrictEqual(await keysOf(engine, OUTBOX), []);
});

Deno.test("EventLog: after a flush the head is not below an event read before", async () => {
  const engine = await Deno.openKv(":memory:");
  let held: PromiseWithResolvers<void> | null = null;
  const kv = committing(engine, async (commit) => {
    const result = await commit();
    await held?.promise;
    return result;
  });
  await using one = await started(kv);
  const { log, tenant } = one;
  held = Promise.withResolvers();
  const appended = append(one, 1, 2);
  while ((await log.read(tenant, 0, 9)).length < 3); // the engine has them, and nobody was told
  const head = log.flush().then(() => log.head(tenant));
  await kv.get(["~"]);
  held.resolve();
  strictEqual(await head, 3);
  await appended;
});

Deno.test("LogFollower: a lazy follower handles events that come during its pass when it is woken again", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = bench(kv);
  const steps: number[][] = [];
  const follower = new LogFollower(one.store, one.log, {
    name: "f",
    lazy: true,
    bufferedEvents: 100,
    wants: () => true,
    cares: () => Promise.resolve(true),
    step: async (_, __, events) => {
      steps.push(events.map(({ seq }) => seq));
      if (steps.length === 2) await append(one, 3, 4);
      return { done: events.length, part: "" };
    },
  }, (error) => one.errors.push(error));
  await append(one, 0);
  await one.log.flush();
  await follower.idle();
  await append(one, 1, 2);
  one.clock.advance(SEQUENCE_LAZY_MS);
  while (steps.length < 2) await kv.get(["~"]);
  await follower.idle();
  deepStrictEqual(steps, [[1], [2, 3]]);
  strictEqual((await keysOf(kv, pendingPrefix("f"))).length, 1);
  one.clock.advance(SEQUENCE_LAZY_MS);
  await one.log.flush();
  await follower.idle();
  deepStrictEqual(steps, [[1], [2, 3], [4, 5]]);
  deepStrictEqual(await keysOf(kv, pendingPrefix("f")), []);
  deepStrictEqual(one.errors, []);
});
