import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { type Entry, ReadCache } from "../../../kv/store/cache.ts";
import { deepFreeze, rowKey } from "../../../kv/store/collection.ts";
import { Bench, committing, item, itemsNamed, overKv } from "../../support/kv.ts";

const at = (versionstamp: string): Entry => ({ value: `value of ${versionstamp}`, versionstamp });

/** A promise with its resolver. */
const gate = <T>() => Promise.withResolvers<T>();

Deno.test("ReadCache.load: a cached value is served until it changes", async () => {
  const cache = new ReadCache();
  await cache.load("g", 2, "a", () => Promise.resolve(at("1")));
  deepStrictEqual(cache.get("g", "a"), at("1"));
  cache.changed("a", "g", 2, at("2"));
  deepStrictEqual(cache.get("g", "a"), at("2"));
  cache.changed("a", "g", 2, null);
  strictEqual(cache.get("g", "a"), undefined);
});

for (const kept of [at("2"), null]) {
  Deno.test(`ReadCache.load: a load that a commit overtook is not cached; ${kept ? "a value" : "nothing"} is`, async () => {
    const cache = new ReadCache(), read = gate<Entry>();
    const loading = cache.load("g", 2, "a", () => read.promise);
    cache.changed("a", "g", 2, kept);
    read.resolve(at("1"));
    deepStrictEqual(await loading, at("1"), "its own caller may still get it");
    deepStrictEqual(cache.get("g", "a"), kept ?? undefined);
  });
}

Deno.test("ReadCache.load: an overtaken load does not affect a later one", async () => {
  const cache = new ReadCache(), slow = gate<Entry>(), quick = gate<Entry>();
  const first = cache.load("g", 2, "a", () => slow.promise);
  cache.changed("a", "g", 2, null);
  const second = cache.load("g", 2, "a", () => quick.promise);
  slow.resolve(at("1"));
  await first;
  strictEqual(cache.get("g", "a"), undefined);
  quick.resolve(at("2"));
  await second;
  deepStrictEqual(cache.get("g", "a"), at("2"));
});

Deno.test("ReadCache.load: a load that is answered late does not replace a newer value", async () => {
  const cache = new ReadCache(), slow = gate<Entry>();
  const first = cache.load("g", 2, "a", () => slow.promise);
  await cache.load("g", 2, "a", () => Promise.resolve(at("2")));
  slow.resolve(at("1"));
  deepStrictEqual(await first, at("1"), "its own caller may still get it");
  deepStrictEqual(cache.get("g", "a"), at("2"));
});

Deno.test("ReadCache.load: a load that fails or finds nothing caches nothing", async () => {
  const cache = new ReadCache();
  await cache.load("g", 2, "a", () => Promise.reject(new Error("no"))).catch(() => {});
  await cache.load("g", 2, "b", () => Promise.resolve({ value: null, versionstamp: null }));
  strictEqual(cache.get("g", "a"), undefined);
  strictEqual(cache.get("g", "b"), undefined);
});

Deno.test("ReadCache.load: a group holds its limit and evicts the least recently used", async () => {
  const cache = new ReadCache();
  const load = (group: string, keyText: string) =>
    cache.load(group, 2, keyText, () => Promise.resolve(at("1")));
  await load("g", "a");
  await load("g", "b");
  await load("h", "c");
  cache.get("g", "a");
  await load("g", "d");
  deepStrictEqual(["a", "b", "d"].map((keyText) => cache.get("g", keyText) !== undefined), [
    true,
    false,
    true,
  ]);
  deepStrictEqual(cache.get("h", "c"), at("1"));
});

Deno.test("Store: a read that starts after a change was answered never sees the old value", async () => {
  const engine = await Deno.openKv(":memory:");
  const read = gate<void>(), held = gate<void>();
  let holding = true;
  // The answer of the first point read is held back until the change has been answered.
  const get = async (...args: Parameters<Deno.Kv["get"]>) => {
    const entry = await engine.get(...args);
    if (!holding) return entry;
    holding = false;
    read.resolve();
    await held.promise;
    return entry;
  };
  await new Bench(engine).put(item("a", { n: 1 }));
  await using bench = new Bench(overKv(engine, { get: get as Deno.Kv["get"] }));
  const { store, items, tenant } = bench;
  const overtaken = store.get(items, tenant, "a");
  await read.promise;
  await bench.put(item("a", { n: 2 }));
  strictEqual((await store.get(items, tenant, "a"))?.n, 2);
  held.resolve();
  strictEqual((await overtaken)?.n, 1);
  strictEqual((await store.get(items, tenant, "a"))?.n, 2);
});

Deno.test("Store: after a commit of unknown outcome the cache agrees with the engine", async () => {
  for (const applied of [true, false]) {
    let failing = false;
    const kv = committing(await Deno.openKv(":memory:"), async (commit) => {
      if (!failing) return await commit();
      if (applied) await commit();
      throw new Error("reply lost");
    });
    await using bench = new Bench(kv);
    const { store, items, tenant } = bench;
    await bench.put(item("a", { n: 1, slug: "old" }));
    await store.get(items, tenant, "a");
    await store.find(items, tenant, "slug", ["old"]);
    failing = true;
    await bench.put(item("a", { n: 2, slug: "new" })).catch(() => {});
    failing = false;
    strictEqual((await store.get(items, tenant, "a"))?.n, applied ? 2 : 1);
    strictEqual((await store.find(items, tenant, "slug", ["new"]))?.id, applied ? "a" : undefined);
    strictEqual((await store.find(items, tenant, "slug", ["old"]))?.id, applied ? undefined : "a");
  }
});

Deno.test("Store: a cached record that the engine has expired blocks nobody", async () => {
  await using bench = await Bench.memory();
  const { store, kv, tickets, tenant, clock } = bench;
  await store.transact((tx) =>
    tx.put(tickets, tenant, { id: "t1", slug: "s", until: clock.now() + 1 })
  );
  await store.find(tickets, tenant, "slug", ["s"]);
  clock.advance(1);
  // As the engine does some time after the expiry.
  await kv.delete(rowKey(tickets, tenant, "t1"));
  await kv.delete([tenant.org, tenant.space, `${tickets.name}.slug`, "s"]);
  await store.transact(async (tx) => {
    strictEqual(await tx.get(tickets, tenant, "t1"), null);
    tx.put(bench.items, tenant, item("a"));
  });
  await store.transact((tx) => tx.put(tickets, tenant, { id: "t2", slug: "s", until: null }));
  strictEqual((await store.find(tickets, tenant, "slug", ["s"]))?.id, "t2");
});

Deno.test("Store.list: an entry without a row is skipped", async () => {
  await using bench = await Bench.memory();
  const { store, kv, items, tenant } = bench;
  await bench.put(...["a", "b", "c"].map((id) => item(id)));
  await kv.delete(rowKey(items, tenant, "b"));
  const { items: found, cursor } = await store.list(items, tenant, { index: "team", limit: 2 });
  deepStrictEqual([found.map(({ id }) => id), cursor], [["a", "c"], null]);
});

Deno.test("Tx.get: of two concurrent reads of one key the first one counts", async () => {
  const engine = await Deno.openKv(":memory:");
  const rival = new Bench(engine);
  await rival.put(item("a", { n: 1 }));
  await using bench = new Bench(engine, "x", { sole: false, hasQueue: false });
  const { store, items, tenant } = bench;
  const raw = store.raw.bind(store);
  let reads = 0;
  store.raw = async (key) => {
    if (++reads === 2) await rival.put(item("a", { n: 10 }));
    return await raw(key);
  };
  await store.transact(async (tx) => {
    const [first] = await Promise.all([1, 2].map(() => tx.get(items, tenant, "a")));
    tx.put(items, tenant, { ...first!, n: first!.n + 1 });
  });
  strictEqual((await store.get(items, tenant, "a"))?.n, 11);
});

Deno.test("deepFreeze: freezes all levels and skips byte arrays", () => {
  const value = deepFreeze({ labels: { a: ["x"] }, bytes: new Uint8Array(2), none: null });
  throws(() => value.labels.a.push("y"), TypeError);
  throws(() => value.labels.a = [], TypeError);
  value.bytes[0] = 1;
  strictEqual(value.bytes[0], 1);
});

Deno.test("Store: a collection without a cache is read each time", async () => {
  await using bench = await Bench.memory();
  const { store, kv, tenant } = bench;
  const plain = itemsNamed("plain", 0);
  for (let n = 0; n < 3; n++) {
    await store.transact((tx) => tx.put(plain, tenant, item("a", { n, slug: `s${n}` })));
    strictEqual((await store.get(plain, tenant, "a"))?.n, n);
    strictEqual((await store.find(plain, tenant, "slug", [`s${n}`]))?.id, "a");
  }
  await kv.delete(rowKey(plain, tenant, "a"));
  strictEqual(await store.get(plain, tenant, "a"), null);
});

Deno.test("Store: the engine may delete a record and its keys an hour after its expiry, not before", async () => {
  const lives = new Map<string, number | undefined>();
  const engine = await Deno.openKv(":memory:");
  const kv = overKv(engine, {
    atomic: () => {
      const op = engine.atomic(), set = op.set.bind(op);
      op.set = (key, value, options) => {
        lives.set(key.slice(2).join("/"), options?.expireIn);
        return set(key, value, options);
      };
      return op;
    },
  });
  await using bench = new Bench(kv);
  const { store, clock, tickets, tenant } = bench;
  const hour = 60 * 60 * 1000;
  const expected = (life: number | undefined) =>
    new Map(
      [["/t", life], [".slug/s", life], [".all/s/t", life]].map(([key, life]) =>
        [`${tickets.name}${key}`, life] as const
      ),
    );
  for (const until of [clock.now() + 5000, null, clock.now() + 7000, clock.now() - 9000]) {
    lives.clear();
    await store.transact((tx) => tx.put(tickets, tenant, { id: "t", slug: "s", until }));
    const life = until === null ? undefined : Math.max(0, until - clock.now()) + hour;
    deepStrictEqual(lives, expected(life));
  }
});

Deno.test("Store.find: a record that gave up a key is not found by a stale pointer", async () => {
  await using bench = await Bench.memory();
  const { store, kv, items, tenant } = bench;
  await bench.put(item("a", { slug: "new", mail: "new" }));
  await kv.set([tenant.org, tenant.space, `${items.name}.slug`, "old"], "a");
  await kv.set(["~system", "live", `${items.name}.mail`, "old"], [tenant.org, tenant.space, "a"]);
  for (const reader of [store, null]) {
    const read = <R>(work: (from: Pick<typeof store, "find" | "lookup">) => Promise<R>) =>
      reader === null ? store.transact(work) : work(reader);
    strictEqual(await read((from) => from.find(items, tenant, "slug", ["old"])), null);
    strictEqual(await read((from) => from.lookup(items, "mail", ["old"])), null);
    strictEqual((await read((from) => from.find(items, tenant, "slug", ["new"])))?.id, "a");
  }
});
