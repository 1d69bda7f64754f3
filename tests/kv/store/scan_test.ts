import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Bench, overKv, ticketsNamed } from "../../support/kv.ts";

const tickets = ticketsNamed("scanned", 0);

Deno.test("list: expired records after a page are read ten at a time", async () => {
  const engine = await Deno.openKv(":memory:");
  let reads = 0;
  const getMany: Deno.Kv["getMany"] = (keys, options) => {
    reads++;
    return engine.getMany(keys, options);
  };
  await using bench = new Bench(overKv(engine, { getMany }), "x", { sole: true, hasQueue: false });
  const { store, tenant, clock } = bench;
  const until = clock.now() + 60_000;
  for (let n = 0; n < 120; n++) {
    const id = String(n).padStart(3, "0");
    await store.transact((tx) =>
      tx.insert(tickets, tenant, { id, slug: id, until: n < 20 ? null : until })
    );
  }
  clock.nowMs = until;
  reads = 0;
  const { items, cursor } = await store.list(tickets, tenant, { index: "all", limit: 20 });
  deq([items.length, cursor], [20, null]);
  // The page, the first record after it, and the other 99.
  eq(reads, 2 + 1 + 10);
});
