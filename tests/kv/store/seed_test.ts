import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Bench, committing, item, overKv } from "../../support/kv.ts";

Deno.test("Tx.seed: a seeded row is checked without a read", async () => {
  const engine = await Deno.openKv(":memory:");
  let reads = 0, commits = 0;
  const counted = overKv(engine, {
    get: ((...args: Parameters<Deno.Kv["get"]>) => {
      reads++;
      return engine.get(...args);
    }) as Deno.Kv["get"],
  });
  const kv = committing(counted, (commit) => {
    commits++;
    return commit();
  });
  await using bench = new Bench(kv, "x", { sole: false, hasQueue: false });
  const { store, items, tenant } = bench;
  let versionstamp = "";
  const first = await store.transact((tx) => {
    tx.afterCommit((stamp) => versionstamp = stamp);
    return tx.insert(items, tenant, item("a", { n: 1 }));
  });
  const add = async (): Promise<number> => {
    let runs = 0;
    await store.transact(async (tx) => {
      if (runs++ === 0) tx.seed(items, tenant, first, versionstamp);
      const { n } = (await tx.get(items, tenant, "a"))!;
      tx.put(items, tenant, item("a", { n: n + 1 }));
    });
    return runs;
  };
  [reads, commits] = [0, 0];
  deq([await add(), reads, commits], [1, 0, 1]);
  // Seeded with an old row, the change is retried with the stored one.
  eq(await add(), 2);
  eq((await store.get(items, tenant, "a"))?.n, 3);
});
