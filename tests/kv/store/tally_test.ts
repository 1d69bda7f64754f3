import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { addToTally, dropTally, raiseTally, readTally } from "../../../kv/store/tally.ts";
import { Bench } from "../../support/kv.ts";
import { random } from "../../support/random.ts";

Deno.test("tally: additions and subtractions of many callers in one commit add up", async () => {
  await using bench = new Bench(await Deno.openKv(":memory:"));
  const { store, tenant } = bench;
  for (let seed = 1; seed <= 20; seed++) {
    const dice = random(seed);
    const sums: Record<string, number> = { a: 1_000, b: 1_000 };
    for (const id in sums) {
      await store.transact((tx) => dropTally(tx, tenant, "n", id));
      await store.transact((tx) => addToTally(tx, tenant, "n", id, 1_000));
    }
    await Promise.all(Array.from({ length: 100 }, () => {
      const id = dice.pick(["a", "b"]), n = dice.below(20) - 10;
      sums[id]! += n;
      return store.transact((tx) => addToTally(tx, tenant, "n", id, n));
    }));
    const read = async (id: string) => [id, await readTally(store, tenant, "n", id)];
    deq(Object.fromEntries(await Promise.all(["a", "b"].map(read))), sums, `seed ${seed}`);
  }
});

Deno.test("tally: a counter deleted between two sums of a commit holds only the later one", async () => {
  await using bench = new Bench(await Deno.openKv(":memory:"));
  const { store, tenant } = bench;
  await Promise.all([
    store.transact((tx) => addToTally(tx, tenant, "n", "a", 5)),
    store.transact((tx) => dropTally(tx, tenant, "n", "a")),
    store.transact((tx) => addToTally(tx, tenant, "n", "a", 3)),
  ]);
  eq(await readTally(store, tenant, "n", "a"), 3);
});

Deno.test("tally: a counter raised by many callers has the highest value", async () => {
  await using bench = new Bench(await Deno.openKv(":memory:"));
  const { store, tenant } = bench;
  await Promise.all(
    [3, 9, 5].map((n) => store.transact((tx) => raiseTally(tx, tenant, "at", "a", n))),
  );
  await store.transact((tx) => raiseTally(tx, tenant, "at", "a", 7));
  eq(await readTally(store, tenant, "at", "a"), 9);
});
