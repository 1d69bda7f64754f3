import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { z } from "zod";
import { collection } from "../../../kv/store/collection.ts";
import { Bench, strictKv } from "../../support/kv.ts";

const Coin = z.strictObject({ id: z.string(), n: z.int() });
const coins = collection({ name: "coins", schema: Coin, checkedPerTenant: true, cached: 100 });
const NAMES = Array.from({ length: 30 }, (_, n) => `coin ${n}`);

for (const sole of [true, false]) {
  const where = sole ? "a store of one's own" : "a shared store, which takes ten checks";
  const open = async () => {
    const engine = await Deno.openKv(":memory:");
    return new Bench(sole ? engine : strictKv(engine), "x", { sole, hasQueue: false });
  };

  Deno.test(`checkedPerTenant, on ${where}: a change may depend on any number of records`, async () => {
    await using bench = await open();
    const { store, tenant } = bench;
    await store.transact((tx) => NAMES.forEach((id) => tx.insert(coins, tenant, { id, n: 1 })));
    const total = await store.transact(async (tx) => {
      const all = await Promise.all(NAMES.map((id) => tx.get(coins, tenant, id)));
      const n = all.reduce((sum, coin) => sum + coin!.n, 0);
      tx.put(coins, tenant, { id: "total", n });
      return n;
    });
    deq([total, (await store.get(coins, tenant, "total"))?.n], [30, 30]);
  });

  Deno.test(`checkedPerTenant, on ${where}: the change is retried when a record was changed, created or deleted meanwhile`, async () => {
    await using bench = await open();
    const { store, tenant, other } = bench;
    await store.transact((tx) => tx.insert(coins, tenant, { id: "a", n: 1 }));
    const changes: [() => Promise<unknown>, number | undefined][] = [
      [() => store.transact((tx) => tx.put(coins, tenant, { id: "a", n: 2 })), 2],
      [() => store.transact((tx) => tx.delete(coins, tenant, "a")), undefined],
      [() => store.transact((tx) => tx.insert(coins, tenant, { id: "a", n: 3 })), 3],
    ];
    for (const [change, expected] of changes) {
      const seen: (number | undefined)[] = [];
      await store.transact(async (tx) => {
        seen.push((await tx.get(coins, tenant, "a"))?.n);
        if (seen.length === 1) await change();
        tx.put(coins, other, { id: "seen", n: seen.length });
      });
      deq([seen.length, seen[1]], [2, expected]);
    }
    // Another tenant's records do not count.
    let runs = 0;
    await store.transact(async (tx) => {
      await tx.get(coins, tenant, "a");
      if (runs++ === 0) await store.transact((tx) => tx.put(coins, other, { id: "b", n: 1 }));
      tx.insert(coins, tenant, { id: "c", n: 1 });
    });
    eq(runs, 1);
  });
}
