import { deepStrictEqual, strictEqual, throws } from "node:assert/strict";
import { Bench, committing, item, overKv } from "../../support/kv.ts";

const MOST = 5;

/** A bench that counts range reads. */
async function counting(options?: { sole: boolean; hasQueue: boolean }) {
  const engine = await Deno.openKv(":memory:");
  const reads = { n: 0 };
  const list = (...args: Parameters<Deno.Kv["list"]>) => {
    reads.n++;
    return engine.list(...args);
  };
  const bench = new Bench(overKv(engine, { list: list as Deno.Kv["list"] }), "x", options);
  const ids = async (tenant = bench.tenant) =>
    (await bench.store.all(bench.items, tenant, MOST)).map(({ id, n }) => `${id}${n}`);
  return { bench, reads, ids };
}

Deno.test("Store.all: returns every committed change, and reads nothing until the next one", async () => {
  const { bench, reads, ids } = await counting();
  await using _ = bench;
  const { store, items, tenant, other } = bench;
  const expect = async (expected: string[], ranges: number) => {
    const before = reads.n;
    for (let time = 0; time < 3; time++) deepStrictEqual(await ids(), expected);
    strictEqual(reads.n - before, ranges);
  };
  await expect([], 1);
  await bench.put(item("b", { n: 1 }), item("a", { n: 1 }));
  await expect(["a1", "b1"], 1);
  await bench.put(item("a", { n: 2 }));
  await expect(["a2", "b1"], 1);
  await store.transact((tx) => tx.put(items, other, item("c")));
  await expect(["a2", "b1"], 0);
  deepStrictEqual(await ids(other), ["c0"]);
  await store.transact((tx) => tx.delete(items, tenant, "a"));
  await expect(["b1"], 1);
  const [record] = await store.all(items, tenant, MOST);
  throws(() => Object.assign(record!, { n: 9 }), TypeError);
});

Deno.test("Store.all: a truncated list is read each time, and so is a shared store", async () => {
  for (const options of [undefined, { sole: false, hasQueue: false }]) {
    const { bench, reads, ids } = await counting(options);
    await using _ = bench;
    const names = ["a", "b", "c", "d", "e", "f"].slice(0, options === undefined ? 6 : 2);
    await bench.put(...names.map((id) => item(id)));
    const before = reads.n;
    for (let time = 0; time < 2; time++) {
      strictEqual((await ids()).length, Math.min(5, names.length));
    }
    strictEqual(reads.n - before, 2);
  }
});

Deno.test("Store.all: a read that a commit overtook is not cached", async () => {
  const engine = await Deno.openKv(":memory:");
  const read = Promise.withResolvers<void>(), held = Promise.withResolvers<void>();
  let holding = true;
  const getMany = async (...args: Parameters<Deno.Kv["getMany"]>) => {
    const rows = await engine.getMany(...args);
    if (holding) {
      holding = false;
      read.resolve();
      await held.promise;
    }
    return rows;
  };
  await using bench = new Bench(overKv(engine, { getMany: getMany as Deno.Kv["getMany"] }));
  const { store, items, tenant } = bench;
  await bench.put(item("a", { n: 1 }));
  const overtaken = store.all(items, tenant, MOST);
  await read.promise;
  await bench.put(item("a", { n: 2 }));
  held.resolve();
  await overtaken;
  strictEqual((await store.all(items, tenant, MOST))[0]?.n, 2);
});

Deno.test("Store.all: after a commit of unknown outcome it reads the engine", async () => {
  let failing = false;
  const kv = committing(await Deno.openKv(":memory:"), async (commit) => {
    const result = await commit();
    if (failing) throw new Error("reply lost");
    return result;
  });
  await using bench = new Bench(kv);
  const { store, items, tenant } = bench;
  await bench.put(item("a"));
  await store.all(items, tenant, MOST);
  failing = true;
  await bench.put(item("b")).catch(() => {});
  failing = false;
  strictEqual((await store.all(items, tenant, MOST)).length, 2);
});
