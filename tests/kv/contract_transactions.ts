import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { DuplicateError } from "../../kv/engine/errors.ts";
import { assertStored, type Bench, item } from "../support/kv.ts";
import { random } from "../support/random.ts";

/** Guarantees of every store for transactions, on any engine. */
export function transactionContract(name: string, open: () => Promise<Bench>): void {
  Deno.test(`${name}: fifty concurrent increments all succeed`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a"));
    let committed = 0, runs = 0;
    await Promise.all(Array.from({ length: 50 }, () =>
      store.transact(async (tx) => {
        runs++;
        tx.afterCommit(() => committed++);
        const record = (await tx.get(items, tenant, "a"))!;
        tx.put(items, tenant, { ...record, n: record.n + 1 });
      })));
    strictEqual((await store.get(items, tenant, "a"))?.n, 50);
    strictEqual(committed, 50);
    ok(runs > 50, "the increments never conflicted, so the test shows nothing");
  });

  Deno.test(`${name}: a change that asks to run again commits nothing of that run`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    let runs = 0;
    const result = await store.transact((tx) => {
      tx.insert(items, tenant, item(`run-${++runs}`));
      if (runs < 3) tx.retry();
      return runs;
    });
    strictEqual(result, 3);
    const { items: stored } = await store.list(items, tenant, { limit: 10 });
    deepStrictEqual(stored.map(({ id }) => id), ["run-3"]);
  });

  Deno.test(`${name}: two hundred concurrent writers of one record all succeed`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a"));
    await Promise.all(Array.from({ length: 200 }, () =>
      store.transact(async (tx) => {
        const record = (await tx.get(items, tenant, "a"))!;
        tx.put(items, tenant, { ...record, n: record.n + 1 });
      })));
    strictEqual((await store.get(items, tenant, "a"))?.n, 200);
  });

  Deno.test(`${name}: of thirty transactions that take a counted place only as many succeed as there are places`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    const added = await Promise.all(
      Array.from({ length: 30 }, (_, n) =>
        store.transact(async (tx) => {
          if (await tx.count(items, tenant) >= 7) return false;
          tx.insert(items, tenant, item(`r${n}`));
          return true;
        })),
    );
    strictEqual(added.filter((was) => was).length, 7);
    strictEqual(await store.count(items, tenant), 7);
  });

  for (
    const [index, over] of [["unique", { slug: "same" }], ["lookup", { mail: "same" }]] as const
  ) {
    Deno.test(`${name}: of twenty claims on one ${index} key exactly one wins`, async () => {
      await using bench = await open();
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => bench.put(item(`r${i}`, over))),
      );
      const lost = outcomes.filter((outcome) => outcome.status === "rejected");
      strictEqual(lost.length, 19);
      ok(lost.every(({ reason }) => reason instanceof DuplicateError));
      strictEqual(
        (await bench.store.list(bench.items, bench.tenant, { limit: 50 })).items.length,
        1,
      );
      strictEqual(await bench.store.count(bench.items, bench.tenant), 1);
    });
  }

  Deno.test(`${name}: a unique key binds within a tenant, a lookup key in the whole store`, async () => {
    await using bench = await open();
    const { store, items, tenant, other } = bench;
    await bench.put(item("a", { mail: "m" }));
    await store.transact((tx) => tx.put(items, other, item("a")));
    const claim = store.transact((tx) => tx.put(items, other, item("a", { mail: "m" })));
    await rejects(claim, DuplicateError);
    deepStrictEqual(await store.lookup(items, "mail", ["m"]), {
      tenant,
      record: item("a", { mail: "m" }),
    });
  });

  Deno.test(`${name}: two records of one change cannot hold one unique key`, async () => {
    await using bench = await open();
    await rejects(bench.put(item("a", { slug: "s" }), item("b", { slug: "s" })), DuplicateError);
    await bench.put(item("c", { slug: "s" }));
    const { store, items, tenant } = bench;
    const handOver = store.transact((tx) => {
      tx.delete(items, tenant, "c");
      tx.put(items, tenant, item("a", { slug: "s" }));
      tx.put(items, tenant, item("b", { slug: "s" }));
    });
    await rejects(handOver, DuplicateError);
  });

  Deno.test(`${name}: two records swap a unique key in one transaction`, async () => {
    await using bench = await open();
    const { kv, items, tenant } = bench;
    await bench.put(item("a", { slug: "one", mail: "x" }), item("b", { slug: "two", mail: "y" }));
    const a = item("a", { slug: "two", mail: "y" }), b = item("b", { slug: "one", mail: "x" });
    await bench.put(a, b);
    await assertStored(kv, items, new Map([a, b].map((record) => [record.id, { tenant, record }])));
    strictEqual((await bench.store.find(items, tenant, "slug", ["one"]))?.id, "b");
    strictEqual((await bench.store.lookup(items, "mail", ["y"]))?.record.id, "a");
  });

  Deno.test(`${name}: a key is free once its record is deleted, and can be taken again`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    for (let round = 0; round < 3; round++) {
      await bench.put(item("a", { slug: "s" }));
      await store.transact((tx) => tx.delete(items, tenant, "a"));
      strictEqual(await store.find(items, tenant, "slug", ["s"]), null);
    }
    await bench.put(item("b", { slug: "s" }));
    strictEqual((await store.find(items, tenant, "slug", ["s"]))?.id, "b");
  });

  Deno.test(`${name}: rows, indexes and counters agree`, async () => {
    await using bench = await open();
    const { store, items, kv, tenant, other } = bench;
    const dice = random(20260101);
    const model = new Map<string, { tenant: typeof tenant; record: ReturnType<typeof item> }>();
    const keyOf = (at: typeof tenant, id: string) => `${at.space}/${id}`;
    for (let step = 0; step < 120; step++) {
      const staged = new Map(model);
      const changes = Array.from({ length: 1 + dice.below(2) }, () => ({
        at: dice.pick([tenant, other]),
        id: dice.pick(["a", "b", "c", "d"]),
        remove: dice.chance(0.3),
        over: {
          slug: dice.pick(["s1", "s2", "s3"]),
          mail: dice.pick([null, "m1", "m2"]),
          team: dice.pick(["t1", "t2"]),
          due: dice.pick([null, 1, 2]),
          n: dice.below(3),
        },
      }));
      try {
        await store.transact((tx) => {
          for (const { at, id, remove, over } of changes) {
            if (remove) tx.delete(items, at, id);
            else tx.put(items, at, item(id, over));
          }
        });
        for (const { at, id, remove, over } of changes) {
          if (remove) staged.delete(keyOf(at, id));
          else staged.set(keyOf(at, id), { tenant: at, record: item(id, over) });
        }
        model.clear();
        for (const [key, value] of staged) model.set(key, value);
      } catch (error) {
        ok(error instanceof DuplicateError, `seed ${dice.seed} step ${step}: ${error}`);
      }
      if (step % 8 === 7) await assertStored(kv, items, model);
    }
    for (const at of [tenant, other]) {
      const live = [...model.values()].filter((row) => row.tenant === at).length;
      strictEqual(await store.count(items, at), live, `seed ${dice.seed}`);
    }
  });

  Deno.test(`${name}: a transaction reads its own writes`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a"));
    await store.transact(async (tx) => {
      tx.put(items, tenant, item("a", { n: 7 }));
      strictEqual((await tx.get(items, tenant, "a"))?.n, 7);
      tx.delete(items, tenant, "a");
      strictEqual(await tx.get(items, tenant, "a"), null);
      strictEqual(await tx.find(items, tenant, "slug", ["slug-a"]), null);
    });
    strictEqual(await store.get(items, tenant, "a"), null);
  });

  Deno.test(`${name}: an insert reads nothing, also after a delete in the same change`, async () => {
    await using bench = await open();
    const { store, items, kv, tenant } = bench;
    await store.transact((tx) => tx.insert(items, tenant, item("a", { team: "old" })));
    const record = item("a", { slug: "new", team: "new" });
    await store.transact((tx) => {
      tx.delete(items, tenant, "a");
      tx.insert(items, tenant, record);
    });
    await assertStored(kv, items, new Map([["a", { tenant, record }]]));
  });

  Deno.test(`${name}: a failed transaction writes nothing and runs no task after the commit`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    let ran = false;
    const failing = store.transact((tx) => {
      tx.put(items, tenant, item("a"));
      tx.append(tenant, "happened", "{}");
      tx.afterCommit(() => ran = true);
      throw new Error("changed my mind");
    });
    await rejects(failing, /changed my mind/);
    strictEqual(await store.get(items, tenant, "a"), null);
    deepStrictEqual(await bench.events(), []);
    strictEqual(ran, false);
  });

  Deno.test(`${name}: a transaction that lost a race runs again on the new value`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a", { n: 1 }));
    const seen: number[] = [];
    let committed = 0;
    const result = await store.transact(async (tx) => {
      tx.afterCommit(() => committed++);
      const record = (await tx.get(items, tenant, "a"))!;
      seen.push(record.n);
      if (seen.length === 1) await bench.put(item("a", { n: 10 }));
      tx.put(items, tenant, { ...record, n: record.n + 1 });
      return record.n;
    });
    deepStrictEqual(seen, [1, 10]);
    strictEqual(result, 10);
    strictEqual(committed, 1);
    strictEqual((await store.get(items, tenant, "a"))?.n, 11);
  });

  Deno.test(`${name}: of two reads of one key the first one is checked`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a", { slug: "s" }));
    const found: (string | undefined)[] = [];
    await store.transact(async (tx) => {
      found.push((await tx.find(items, tenant, "slug", ["s"]))?.id);
      if (found.length === 1) {
        await store.transact((inner) => inner.delete(items, tenant, "a"));
      }
      await tx.find(items, tenant, "slug", ["s"]);
      tx.put(items, tenant, item("log", { n: found.length }));
    });
    deepStrictEqual(found, ["a", undefined]);
  });

  Deno.test(`${name}: a read record is frozen`, async () => {
    await using bench = await open();
    const { store, items, tenant } = bench;
    await bench.put(item("a"));
    for (let round = 0; round < 2; round++) {
      const record = (await store.get(items, tenant, "a"))!;
      await rejects(async () => void (record.n = 5), TypeError);
    }
    strictEqual((await store.get(items, tenant, "a"))?.n, 0);
  });
}
