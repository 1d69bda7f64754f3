import { deepStrictEqual, ok, rejects, strictEqual, throws } from "node:assert/strict";
import { FOLLOWERS_MAX, LINE_BYTES_MAX, TENANTS_MAX } from "../../../kv/engine/engine_limits.ts";
import { OUTBOX } from "../../../kv/log/line.ts";
import { SEQUENCE_LAZY_MS } from "../../../kv/log/log.ts";
import { pendingGroup, pendingGroupPrefix } from "../../../kv/log/pending.ts";
import { hasSegmentAfter } from "../../../kv/log/segments.ts";
import { Bench, committing, losesReply, overKv, shared } from "../../support/kv.ts";

const follower = (name: string, wants: (type: string) => boolean = () => true) => ({ name, wants });
const live = (org: string) => ({ org, space: "live" as const });

Deno.test("EventLog: every event gets its number, a followed one sooner", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, clock } = bench;
  log.follow(follower("f", (type) => type === "followed"));
  const next = () =>
    new Promise<number>((resolve) => {
      const off = log.onSequenced((_, events) => (off(), resolve(events.at(-1)!.seq)));
    });
  await store.append(tenant, "plain", "{}");
  strictEqual(clock.nextDueMs, clock.now() + SEQUENCE_LAZY_MS);
  await store.append(tenant, "followed", "{}");
  strictEqual(clock.nextDueMs, clock.now() + 2, "the earlier timer wins");
  await store.append(tenant, "plain", "{}");
  strictEqual(clock.pending, 1);
  const numbered = next();
  clock.advance(2);
  strictEqual(await numbered, 3);
  strictEqual(await log.head(tenant), 3);
});

Deno.test("EventLog: an event that comes after a batch was read gets its number too", async () => {
  const engine = await Deno.openKv(":memory:");
  const looked = Promise.withResolvers<void>(), held = Promise.withResolvers<void>();
  let looks = 0;
  // The first read of the outbox is over, and its result is delayed.
  async function* look(...args: Parameters<Deno.Kv["list"]>) {
    const rows = await Array.fromAsync(engine.list(...args));
    if (++looks === 1) {
      looked.resolve();
      await held.promise;
    }
    yield* rows;
  }
  await using bench = new Bench(overKv(engine, { list: look as unknown as Deno.Kv["list"] }));
  const { store, log, tenant, clock } = bench;
  const second = new Promise<void>((resolve) =>
    log.onSequenced((_, events) => {
      if (events.at(-1)!.seq === 2) resolve();
    })
  );
  await store.append(tenant, "first", "{}");
  clock.advance(SEQUENCE_LAZY_MS);
  await looked.promise;
  await store.append(tenant, "second", "{}");
  clock.advance(SEQUENCE_LAZY_MS);
  strictEqual(clock.pending, 0);
  held.resolve();
  await second;
});

Deno.test("EventLog.flush: events committed before the call have their numbers after it", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  await log.flush();
  for (let n = 1; n <= 5; n++) {
    await Promise.all([store.append(tenant, "a", "{}"), store.append(tenant, "b", "{}")]);
    await Promise.all([log.flush(), log.flush()]);
    strictEqual((await log.read(tenant, 0, 99)).length, n * 2);
  }
});

Deno.test("EventLog.flush: later writes do not delay it", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  let flushed = 0, written = 0;
  const writing = (async () => {
    while (flushed < 20) written++, await store.append(tenant, "tick", "{}");
  })();
  const asking = [1, 2].map(async () => {
    while (flushed < 20) {
      const before = written;
      await log.flush();
      flushed++;
      // The last one may be in flight.
      if (await log.head(tenant) < before - 1) throw new Error("a committed event has no number");
    }
  });
  await Promise.all([writing, ...asking]);
});

Deno.test("EventLog.flush: ends while a faster process takes and adds events all the time", async () => {
  const engine = await Deno.openKv(":memory:");
  const options = { sole: false, hasQueue: false };
  await using fast = new Bench(engine, "x", options);
  let races = 0;
  const racing = committing(shared(engine), async (commit) => {
    if (races < 100) {
      races++;
      await fast.log.flush();
      await fast.store.append(fast.tenant, "more", "{}");
    }
    return await commit();
  });
  await using slow = new Bench(racing, "x", options);
  await fast.store.append(fast.tenant, "first", "{}");
  await slow.log.flush();
  strictEqual((await fast.log.read(fast.tenant, 0, 1))[0]?.type, "first");
  ok(races < 100, "it takes part in one race only");
  races = 100;
});

for (const waiting of [true, false]) {
  const what = waiting ? "a timer is set" : "none is";
  Deno.test(`EventLog.stop: sequences what is left and sets no timer, when ${what}`, async () => {
    await using bench = await Bench.memory();
    const { store, log, tenant, clock } = bench;
    await store.append(tenant, "a", "{}");
    if (!waiting) clock.advance(SEQUENCE_LAZY_MS);
    await log.stop();
    strictEqual(await log.head(tenant), 1);
    await store.append(tenant, "b", "{}");
    strictEqual(clock.pending, 0);
  });
}

Deno.test("EventLog: one batch moves hundreds of tenants and stays within the engine's limits", async () => {
  await using bench = await Bench.memory();
  const { store, log } = bench;
  for (let n = 0; n < FOLLOWERS_MAX; n++) log.follow(follower(`follower_${n}`));
  throws(() => log.follow(follower("one too many")), RangeError);
  const orgs = Array.from({ length: 700 }, (_, n) => `org_${"x".repeat(24)}_${n}`);
  await Promise.all(orgs.map((org) => store.append(live(org), "tick", `{"org":"${org}"}`)));
  await Promise.all(orgs.map((org) => store.append(live(org), "tock", "{}")));
  await log.flush();
  for (const org of orgs) {
    deepStrictEqual(await log.read(live(org), 0, 9), [
      { seq: 1, type: "tick", json: `{"org":"${org}"}` },
      { seq: 2, type: "tock", json: "{}" },
    ]);
  }
});

Deno.test("EventLog: a batch of large events stays within the engine's limits", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  const json = `"${"x".repeat(14_000)}"`;
  await Promise.all(Array.from({ length: 120 }, () => store.append(tenant, "large", json)));
  await log.flush();
  strictEqual((await log.read(tenant, 0, 1000)).length, 120);
});

Deno.test("Tx.append: one change holds as many events and tenants as one batch can move", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  for (let n = 0; n < FOLLOWERS_MAX; n++) log.follow(follower(`f${n}`));
  const tell = (n: number) =>
    store.transact((tx) => {
      for (let at = 0; at < n; at++) tx.append(live(`o${at}`), "told", "{}");
    });
  await tell(TENANTS_MAX);
  await rejects(tell(TENANTS_MAX + 1), RangeError);
  const tiny = (bytes: number) =>
    store.transact((tx) => {
      const line = `${tenant.org}/${tenant.space}\tt\t{}`.length + 1;
      for (let at = 0; at * line < bytes; at++) tx.append(tenant, "t", "{}");
    });
  await tiny(59 * 1024);
  await rejects(tiny(62 * 1024), RangeError);
  const head = `${tenant.org}/${tenant.space}\tbig\t`.length + 1;
  const big = (bytes: number) => store.append(tenant, "big", "x".repeat(bytes - head));
  await big(LINE_BYTES_MAX);
  await rejects(big(LINE_BYTES_MAX + 1), RangeError);
  await log.flush();
  strictEqual(await log.head(live("o127")), 1);
  strictEqual((await log.read(tenant, 0, 1e6)).length, await log.head(tenant));
});

Deno.test("EventLog: long and multi-byte events are split over segments and read back unchanged", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  const texts = Array.from({ length: 60 }, (_, n) => `"${"ü€😀x".repeat(n * 12)}${n}"`);
  await Promise.all(texts.map((text) => store.append(tenant, "text", text)));
  await log.flush();
  deepStrictEqual((await log.read(tenant, 0, 99)).map(({ json }) => json), texts);
  deepStrictEqual((await log.readBack(tenant, 61, 99)).map(({ json }) => json), texts.toReversed());
  deepStrictEqual((await log.read(tenant, 41, 3)).map(({ seq }) => seq), [42, 43, 44]);
});

for (const applied of [true, false]) {
  const what = applied ? "made" : "not made";
  Deno.test(`EventLog: listeners hear once of a batch that was ${what} and whose reply is lost`, async () => {
    const { kv, loseNext } = losesReply(await Deno.openKv(":memory:"), applied);
    await using bench = new Bench(kv);
    const { store, log, tenant } = bench;
    const told: number[] = [];
    log.onSequenced((_, events) => told.push(...events.map(({ seq }) => seq)));
    await Promise.all([store.append(tenant, "a", "{}"), store.append(tenant, "b", "{}")]);
    loseNext();
    await rejects(log.flush());
    deepStrictEqual(told, []);
    await store.append(tenant, "c", "{}");
    await log.flush();
    deepStrictEqual(told, [1, 2, 3]);
    deepStrictEqual((await log.read(tenant, 0, 9)).map(({ type }) => type), ["a", "b", "c"]);
  });
}

Deno.test("EventLog: an event of unknown outcome is sequenced too", async () => {
  let failing = false;
  const kv = committing(await Deno.openKv(":memory:"), async (commit) => {
    await commit();
    if (failing) throw new Error("reply lost");
    return await commit();
  });
  const once = committing(kv, (commit) => commit());
  await using bench = new Bench(once);
  failing = true;
  await rejects(bench.store.append(bench.tenant, "a", "{}"));
  strictEqual(bench.clock.pending, 1, "no timer would read the outbox");
  failing = false;
});

Deno.test("EventLog: a failed batch is reported and retried", async () => {
  let failing = true;
  const engine = await Deno.openKv(":memory:");
  const kv = overKv(engine, {
    list: ((...args: Parameters<Deno.Kv["list"]>) => {
      if (failing) throw new Error("no reads");
      return engine.list(...args);
    }) as Deno.Kv["list"],
  });
  await using bench = new Bench(kv);
  const { store, log, tenant, clock, errors } = bench;
  await store.append(tenant, "a", "{}");
  clock.advance(SEQUENCE_LAZY_MS);
  while (errors.length === 0) await engine.get(["~"]);
  strictEqual(clock.pending, 1);
  failing = false;
  const told = new Promise((resolve) => log.onSequenced((_, events) => resolve(events.length)));
  clock.advance(SEQUENCE_LAZY_MS);
  strictEqual(await told, 1);
});

Deno.test("EventLog.onSequenced: a listener that throws does not affect the others", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, errors } = bench;
  const told: number[] = [];
  const off = log.onSequenced(() => {
    throw new Error("mine");
  });
  log.onSequenced((_, events) => told.push(...events.map(({ seq }) => seq)));
  await store.append(tenant, "a", "{}");
  await log.flush();
  deepStrictEqual([told, errors.map(String)], [[1], ["Error: mine"]]);
  off();
  await store.append(tenant, "b", "{}");
  await log.flush();
  deepStrictEqual([told, errors.length], [[1, 2], 1]);
});

/** Several atomics in one batch, and several segments of one log. */
const SMALL = {
  atomicBytes: 60,
  atomicMutations: 4,
  segmentBytes: 30,
  inlineBytes: Infinity,
  bytes: 5_000,
  rows: 50,
};
const tenants = (count: number) => Array.from({ length: count }, (_, n) => live(`org_${n}`));

Deno.test("EventLog: each of many busy logs gets one segment in a batch of several atomics", async () => {
  await using bench = await Bench.memory();
  const { store, log } = bench;
  log.follow(follower("f"));
  const all = tenants(40);
  const json = (n: number) => `"${n} ${"x".repeat(1_000)}"`;
  for (let n = 1; n <= 30; n++) {
    await Promise.all(all.map((one) => store.append(one, "t", json(n))));
  }
  await log.flush();
  for (const one of all) {
    const rows = await log.read(one, 0, 99);
    deepStrictEqual(
      rows.map(({ seq, json }) => [seq, json]),
      rows.map((_, n) => [n + 1, json(n + 1)]),
    );
    strictEqual(rows.length, 30);
    strictEqual(await hasSegmentAfter(bench.kv, one, 1), false);
  }
  const groups = await Array.fromAsync(bench.kv.list({ prefix: pendingGroupPrefix("f") }));
  const pending = groups.flatMap((entry) => pendingGroup(entry)!);
  deepStrictEqual(pending, all.map((tenant) => ({ tenant, seq: 30 })));
  deepStrictEqual(await Array.fromAsync(bench.kv.list({ prefix: OUTBOX })), []);
});

const COMMITS = 12;

for (const sole of [true, false]) {
  const by = sole ? "a new process" : "another one";
  Deno.test(`EventLog: a batch that was cut off after any of its atomics is finished by ${by}`, async () => {
    for (let cut = 0, whole = false; !whole; cut++) {
      const engine = await Deno.openKv(":memory:");
      let left = Infinity;
      const kv = committing(shared(engine), async (commit) => {
        if (left-- <= 0) throw new Error("dead");
        return await commit();
      });
      const options = { sole, hasQueue: false };
      const first = new Bench(kv, "x", options, SMALL), all = tenants(3);
      for (let n = 1; n <= COMMITS; n++) {
        await Promise.all(all.map((one) => first.store.append(one, "t", `${n}`)));
      }
      left = cut;
      whole = await first.log.flush().then(() => true, () => false);
      left = Infinity;
      await using second = new Bench(engine, "x", options, SMALL);
      const told: number[] = [];
      second.log.onSequenced((_, events) => told.push(...events.map(({ seq }) => seq)));
      await second.store.append(all[1]!, "t", `${COMMITS + 1}`);
      // When both live, the one that was cut off goes on as well.
      await Promise.all([second.log.flush(), ...(sole ? [] : [first.log.flush()])]);
      for (const [at, one] of all.entries()) {
        const rows = (await second.log.read(one, 0, 99)).map(({ seq, json }) => [seq, json]);
        const count = at === 1 ? COMMITS + 1 : COMMITS;
        deepStrictEqual(rows, Array.from({ length: count }, (_, n) => [n + 1, `${n + 1}`]));
      }
      if (whole) strictEqual(cut > 4, true, "one atomic was enough");
      deepStrictEqual(await Array.fromAsync(engine.list({ prefix: OUTBOX })), []);
    }
  });
}
