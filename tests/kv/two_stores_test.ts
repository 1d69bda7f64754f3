import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { Sequenced } from "../../kv/log/log.ts";
import { Bench, committing, faultyKv, item, overKv, shared, strictKv } from "../support/kv.ts";
import { random } from "../support/random.ts";
import { Life, World } from "./world.ts";

for (let seed = 1; seed <= 6; seed++) {
  Deno.test(`two stores, seed ${seed}: one log, one order, every event handled once`, async () => {
    const dice = random(1000 + seed), world = new World(dice);
    const engine = await Deno.openKv(":memory:");
    const kv = strictKv(shared(engine));
    const below = seed % 2 === 0 ? faultyKv(kv, dice.unit) : kv;
    const lives = [new Life(below, false), new Life(below, false)] as const;
    for (let round = 0; round < 25; round++) {
      await Promise.all([
        ...Array.from({ length: 2 + dice.below(5) }, () => world.act(dice.pick(lives))),
        ...lives.map(({ bench }) => bench.log.flush().catch(() => {})),
      ]);
      for (const life of lives) {
        life.bench.clock.advance(1000);
        await world.assertFresh(life, engine);
      }
    }
    for (const life of lives) {
      life.kill();
      await life.follower.idle();
      await life.bench.store.idle();
    }
    const pair = [new Life(kv, false), new Life(kv, false)] as const;
    await Promise.all(pair.map(({ bench }) => bench.log.flush()));
    for (const { follower } of pair) follower.wake();
    for (const life of pair) await world.assertTrue(life, engine);
    for (const { bench } of pair) await bench[Symbol.asyncDispose]();
    engine.close();
  });
}

Deno.test("two stores: increments from both succeed, and both see them at once", async () => {
  const engine = await Deno.openKv(":memory:");
  const lives = [1, 2].map(() => new Life(strictKv(shared(engine)), false));
  const [{ bench }] = lives as [Life];
  await bench.put(item("a"));
  await Promise.all(
    lives.flatMap(({ bench: { store, items, tenant } }) =>
      Array.from({ length: 40 }, () =>
        store.transact(async (tx) => {
          const record = (await tx.get(items, tenant, "a"))!;
          tx.put(items, tenant, { ...record, n: record.n + 1 });
        }))
    ),
  );
  for (const { bench: { store, items, tenant } } of lives) {
    strictEqual((await store.get(items, tenant, "a"))?.n, 80);
  }
  engine.close();
});

Deno.test("two stores: concurrent batches give each event one number", async () => {
  const engine = await Deno.openKv(":memory:");
  const lives = [1, 2, 3].map(() => new Life(strictKv(shared(engine)), false));
  const { tenant } = lives[0]!.bench;
  for (let round = 0; round < 10; round++) {
    await Promise.all(
      lives.map(({ bench }, at) =>
        Promise.all(
          [1, 2, 3, 4].map((n) => bench.store.append(tenant, "told", `"${at} ${round} ${n}"`)),
        )
      ),
    );
    await Promise.all(lives.map(({ bench }) => bench.log.flush()));
    for (const { bench } of lives) strictEqual(await bench.log.head(tenant), 12 * (round + 1));
  }
  const events = await lives[0]!.bench.log.read(tenant, 0, 1000);
  deepStrictEqual(events.map(({ seq }) => seq), Array.from({ length: 120 }, (_, at) => at + 1));
  strictEqual(new Set(events.map(({ json }) => json)).size, 120);
  for (const { follower } of lives) await follower.idle();
  engine.close();
});

Deno.test("two stores: a batch that lost its race and its reply notifies nobody", async () => {
  const engine = await Deno.openKv(":memory:");
  const kv = strictKv(shared(engine));
  const other = new Bench(kv, "late", { sole: false, hasQueue: false });
  let late = false;
  const list: Deno.Kv["list"] = (selector, options) => {
    const found = kv.list(selector, options);
    // It has read its batch, and now reads the log's end.
    if (!late || options?.reverse !== true) return found as never;
    const next = found.next.bind(found);
    found.next = async () => {
      await other.log.flush();
      return await next();
    };
    return found as never;
  };
  const slow = committing(overKv(kv, { list }), async (commit) => {
    if (late) throw new Error("connection reset");
    return await commit();
  });
  const bench = new Bench(slow, "late", { sole: false, hasQueue: false });
  const { tenant } = bench;
  const heard: Sequenced[] = [];
  bench.log.onSequenced((_, events) => heard.push(...events));
  await bench.store.append(tenant, "told", '"first"');
  late = true;
  await rejects(bench.log.flush());
  late = false;
  await other.store.append(tenant, "told", '"second"');
  await other.log.flush();
  await bench.store.append(tenant, "told", '"third"');
  await bench.log.flush();
  const events = await bench.log.read(tenant, 0, 10);
  deepStrictEqual(events.map(({ seq, json }) => [seq, json]), [
    [1, '"first"'],
    [2, '"second"'],
    [3, '"third"'],
  ]);
  deepStrictEqual(heard, events.slice(2));
  engine.close();
});
