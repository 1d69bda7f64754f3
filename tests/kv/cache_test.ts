import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { type Entry, ReadCache } from "../../kv/cache.ts";
import { rowKey } from "../../kv/collection.ts";
import { Bench, committing, item, overKv } from "../support/kv.ts";

const at = (versionstamp: string): Entry => ({ value: `value of ${versionstamp}`, versionstamp });

/** A promise and the hand that ends it. */
const gate = <T>() => Promise.withResolvers<T>();

Deno.test("ReadCache.load: what is kept is served until it is changed", async () => {
  const cache = new ReadCache();
  await cache.load("g", 2, "a", () => Promise.resolve(at("1")));
  deepStrictEqual(cache.get("g", "a"), at("1"));
  cache.changing("a");
  deepStrictEqual(
    cache.get("g", "a"),
    at("1"),
    "until the commit is answered the old value stands",
  );
  cache.changed("a", "g", 2, at("2"));
  deepStrictEqual(cache.get("g", "a"), at("2"));
  cache.changing("a");
  cache.changed("a", "g", 2, null);
  strictEqual(cache.get("g", "a"), undefined);
});

for (const overtaken of ["starts", "ends", "starts and ends"]) {
  Deno.test(`ReadCache.load: a load during which a commit ${overtaken} is not kept`, async () => {
    const cache = new ReadCache(), read = gate<Entry>();
    if (overtaken === "ends") cache.changing("a");
    const loading = cache.load("g", 2, "a", () => read.promise);
    if (overtaken !== "ends") cache.changing("a");
    if (overtaken !== "starts") cache.changed("a", "g", 2, null);
    read.resolve(at("1"));
    deepStrictEqual(await loading, at("1"), "its own reader may still have it");
    strictEqual(cache.get("g", "a"), undefined);
  });
}

Deno.test("ReadCache.changed: only the last of several commits under way leaves its value", () => {
  const cache = new ReadCache();
  cache.changing("a");
  cache.changing("a");
  cache.changed("a", "g", 2, at("1"));
  strictEqual(cache.get("g", "a"), undefined);
  cache.changed("a", "g", 2, at("2"));
  deepStrictEqual(cache.get("g", "a"), at("2"));
});

Deno.test("ReadCache.load: an overtaken load does not spoil the one that began after it", async () => {
  const cache = new ReadCache(), slow = gate<Entry>(), quick = gate<Entry>();
  const first = cache.load("g", 2, "a", () => slow.promise);
  cache.changing("a");
  cache.changed("a", "g", 2, null);
  const second = cache.load("g", 2, "a", () => quick.promise);
  slow.resolve(at("1"));
  await first;
  strictEqual(cache.get("g", "a"), undefined);
  quick.resolve(at("2"));
  await second;
  deepStrictEqual(cache.get("g", "a"), at("2"));
});

Deno.test("ReadCache.load: a load that fails, or finds nothing, leaves nothing", async () => {
  const cache = new ReadCache();
  await cache.load("g", 2, "a", () => Promise.reject(new Error("no"))).catch(() => {});
  await cache.load("g", 2, "b", () => Promise.resolve({ value: null, versionstamp: null }));
  strictEqual(cache.get("g", "a"), undefined);
  strictEqual(cache.get("g", "b"), undefined);
});

Deno.test("ReadCache.load: a group holds its limit, the least used goes first", async () => {
  const cache = new ReadCache();
  const load = (group: string, slot: string) =>
    cache.load(group, 2, slot, () => Promise.resolve(at("1")));
  await load("g", "a");
  await load("g", "b");
  await load("h", "c");
  cache.get("g", "a");
  await load("g", "d");
  deepStrictEqual(["a", "b", "d"].map((slot) => cache.get("g", slot) !== undefined), [
    true,
    false,
    true,
  ]);
  deepStrictEqual(cache.get("h", "c"), at("1"));
});

Deno.test("Store: no read that starts after a change was answered sees what was before", async () => {
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

Deno.test("Store: after a commit of unknown outcome, memory says what the engine says", async () => {
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

Deno.test("Store: what the engine let go of while memory still had it holds nobody up", async () => {
  await using bench = await Bench.memory();
  const { store, kv, tickets, tenant, clock } = bench;
  await store.transact((tx) =>
    tx.put(tickets, tenant, { id: "t1", slug: "s", until: clock.now() + 1 })
  );
  await store.find(tickets, tenant, "slug", ["s"]);
  clock.advance(1);
  // As the engine's own housekeeping does some time after the expiry.
  await kv.delete(rowKey(tickets, tenant, "t1"));
  await kv.delete([tenant.org, tenant.space, `${tickets.name}.slug`, "s"]);
  await store.transact((tx) => tx.put(tickets, tenant, { id: "t2", slug: "s", until: null }));
  strictEqual((await store.find(tickets, tenant, "slug", ["s"]))?.id, "t2");
});

Deno.test("Store.find: a record that gave up a key is not found by it, whatever the pointer says", async () => {
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
