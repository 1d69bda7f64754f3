import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import type { ListOptions, Page } from "../../kv/store/reader.ts";
import { DuplicateError } from "../../kv/engine/errors.ts";
import { type Bench, item } from "../support/kv.ts";
import { random } from "../support/random.ts";

type By = "cursor" | "offset";
type Position = { cursor: string | null } | { offset: number };

/** The ids of all pages, as a client fetches them. */
async function walk(
  read: (at: Position) => Promise<Page<{ id: string }>>,
  by: By,
  { limit }: { limit: number },
): Promise<string[]> {
  const ids: string[] = [];
  let at: Position = by === "cursor" ? { cursor: null } : { offset: 0 };
  for (let n = 1; n < 200; n++) {
    const { items, cursor } = await read(at);
    if (n > 1 && items.length === 0) throw new Error(`page ${n} was promised and is empty`);
    ids.push(...items.map(({ id }) => id));
    if (cursor === null) return ids;
    at = by === "cursor" ? { cursor } : { offset: n * limit };
  }
  throw new Error("the list has no end");
}

/** Guarantees of every store for expiry, lists and queues, on any engine. */
export function readContract(name: string, open: () => Promise<Bench>): void {
  Deno.test(`${name}: a record lives until it expires, and then its key is free`, async () => {
    await using bench = await open();
    const { store, tickets, tenant, clock } = bench;
    const until = clock.now() + 1000;
    const claim = (id: string, untilMs: number | null) =>
      store.transact((tx) => tx.put(tickets, tenant, { id, slug: "s", until: untilMs }));
    await claim("t1", until);
    clock.advance(999);
    strictEqual((await store.get(tickets, tenant, "t1"))?.id, "t1");
    await rejects(claim("t2", null), DuplicateError);
    clock.advance(1);
    strictEqual(await store.get(tickets, tenant, "t1"), null);
    strictEqual(await store.find(tickets, tenant, "slug", ["s"]), null);
    strictEqual(await store.transact((tx) => tx.get(tickets, tenant, "t1")), null);
    deepStrictEqual((await store.list(tickets, tenant, { limit: 9 })).items, []);
    await claim("t2", null);
    strictEqual((await store.find(tickets, tenant, "slug", ["s"]))?.id, "t2");
    await rejects(claim("t1", null), DuplicateError);
    await rejects(claim("t1", clock.now() + 5), DuplicateError);
  });

  Deno.test(`${name}: an expired record that is deleted leaves its old key with the new holder`, async () => {
    await using bench = await open();
    const { store, tickets, tenant, clock } = bench;
    await store.transact((tx) =>
      tx.put(tickets, tenant, { id: "t1", slug: "s", until: clock.now() + 1 })
    );
    clock.advance(1);
    await store.transact((tx) => tx.put(tickets, tenant, { id: "t2", slug: "s", until: null }));
    await store.transact((tx) => tx.delete(tickets, tenant, "t1"));
    strictEqual((await store.find(tickets, tenant, "slug", ["s"]))?.id, "t2");
  });

  const pages = (bench: Bench, options: ListOptions, by: By) =>
    walk((at) => bench.store.list(bench.items, bench.tenant, { ...options, ...at }), by, options);

  Deno.test(`${name}: paging through a list gives each record once, in order`, async () => {
    await using bench = await open();
    const dice = random(7);
    const all = dice.shuffle(Array.from({ length: 37 }, (_, at) => at)).map((at) =>
      item(`i${String(at).padStart(2, "0")}`, { team: at % 3 === 0 ? "x" : "y", n: at % 5 })
    );
    for (const record of all) await bench.put(record);
    const byId = all.toSorted((a, b) => a.id < b.id ? -1 : 1).map(({ id }) => id);
    const ofY = all.filter(({ team }) => team === "y")
      .toSorted((a, b) => a.n - b.n || (a.id < b.id ? -1 : 1)).map(({ id }) => id);
    for (const by of ["cursor", "offset"] as const) {
      for (const limit of [1, 7, 10, 11, 36, 37, 200]) {
        const y = { limit, index: "team", prefix: ["y"] };
        deepStrictEqual(await pages(bench, { limit }, by), byId, `${by} ${limit}`);
        deepStrictEqual(await pages(bench, y, by), ofY, `${by} ${limit}`);
        deepStrictEqual(await pages(bench, { ...y, reverse: true }, by), ofY.toReversed());
      }
    }
    const first = await bench.store.list(bench.items, bench.tenant, { limit: 5, offset: 3 });
    deepStrictEqual(first.items.map(({ id }) => id), byId.slice(3, 8));
    const next = await bench.store.list(bench.items, bench.tenant, {
      limit: 5,
      cursor: first.cursor,
    });
    deepStrictEqual(next.items.map(({ id }) => id), byId.slice(8, 13));
    strictEqual(await bench.store.countBy(bench.items, bench.tenant, "team", ["y"]), ofY.length);
    strictEqual(await bench.store.countBy(bench.items, bench.tenant, "team", []), all.length);
    deepStrictEqual((await bench.store.list(bench.items, bench.other, { limit: 5 })).items, []);
  });

  Deno.test(`${name}: expired records neither appear in a list nor shift its pages`, async () => {
    await using bench = await open();
    const { store, tickets, tenant, clock } = bench;
    const dice = random(11);
    const live: string[] = [];
    for (let at = 0; at < 45; at++) {
      const id = `t${String(at).padStart(2, "0")}`;
      const dead = at < 13 || dice.chance(0.5);
      if (!dead) live.push(id);
      await store.transact((tx) =>
        tx.put(tickets, tenant, { id, slug: id, until: clock.now() + (dead ? 10 : 10_000) })
      );
    }
    clock.advance(10);
    for (const index of [{}, { index: "all" }]) {
      for (const limit of [1, 4, 10, 25]) {
        const read = (at: Position) => store.list(tickets, tenant, { ...index, ...at, limit });
        deepStrictEqual(await walk(read, "offset", { limit }), live, `offset, limit ${limit}`);
        deepStrictEqual(await walk(read, "cursor", { limit }), live, `cursor, limit ${limit}`);
      }
    }
  });

  Deno.test(`${name}: a record that stops expiring keeps its keys`, async () => {
    await using bench = await open();
    const { store, kv, tickets, tenant, clock } = bench;
    const ticket = { id: "t", slug: "s" };
    await store.transact((tx) => tx.put(tickets, tenant, { ...ticket, until: clock.now() + 1000 }));
    const before = new Map<string, string>();
    const entries = async () => await Array.fromAsync(kv.list({ prefix: [tenant.org] }));
    for (const { key, versionstamp } of await entries()) before.set(key.join("/"), versionstamp);
    await store.transact((tx) => tx.put(tickets, tenant, { ...ticket, until: null }));
    const kept = (await entries()).filter(({ key, versionstamp }) =>
      before.get(key.join("/")) === versionstamp
    );
    deepStrictEqual(kept, [], "an entry kept its record's earlier expiry");
    clock.advance(10_000);
    strictEqual((await store.find(tickets, tenant, "slug", ["s"]))?.id, "t");
  });

  Deno.test(`${name}: a queue gives the due records of every tenant, in order, below a key`, async () => {
    await using bench = await open();
    const { store, items, tenant, other } = bench;
    for (const [at, due] of [30, 10, 20, null, 40].entries()) {
      const where = at % 2 === 0 ? tenant : other;
      await store.transact((tx) => tx.put(items, where, item(`q${at}`, { due })));
    }
    const ids = async (before: number, limit = 9) => {
      const page = await store.queued(items, "due", { limit, before: [before] });
      return page.items.map(({ tenant: { space }, record: { id } }) => `${space}/${id}`);
    };
    deepStrictEqual(await ids(100), ["test/q1", "live/q2", "live/q0", "live/q4"]);
    deepStrictEqual(await ids(30), ["test/q1", "live/q2"]);
    deepStrictEqual(await ids(31), ["test/q1", "live/q2", "live/q0"]);
    deepStrictEqual(await ids(100, 1), ["test/q1"]);
    deepStrictEqual(await ids(10), []);
    const first = await store.queued(items, "due", { limit: 3 });
    const rest = await store.queued(items, "due", { limit: 3, cursor: first.cursor });
    deepStrictEqual(rest.items.map(({ record }) => record.id), ["q4"]);
    strictEqual(rest.cursor, null);
    const twenty = await store.queued(items, "due", { limit: 3, prefix: [20] });
    deepStrictEqual(twenty.items.map(({ record }) => record.id), ["q2"]);
  });
}
