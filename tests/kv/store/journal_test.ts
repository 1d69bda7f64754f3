import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Journal, readJournals } from "../../../kv/store/journal.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { findPacked, packedNewestFirst, putPacked } from "../../../kv/store/packed.ts";
import { addToTally, dropTally, readTally } from "../../../kv/store/tally.ts";
import { Store } from "../../../kv/store/store.ts";
import { ManualClock } from "../../support/clock.ts";
import { losesReply, overKv } from "../../support/kv.ts";
import { random } from "../../support/random.ts";

const HERE = { org: "o1", space: "live" } as const;
const THERE = { org: "o2", space: "live" } as const;

async function openStore(kv?: Deno.Kv) {
  const clock = new ManualClock();
  const engine = kv ?? await Deno.openKv(":memory:");
  const store = new Store(engine, { clock, sole: true, hasQueue: false });
  return { clock, store, engine };
}

async function texts(store: Store): Promise<string[]> {
  const found = [];
  for await (const value of readJournals(store, "work/")) found.push(...value.texts);
  return found;
}

const refuse = (error: unknown) => {
  throw error;
};

Deno.test("Journal: holds what has begun and not ended, in any order of ends and after a crash", async () => {
  const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
  console.log(`journal seed ${seed}`);
  const dice = random(seed);
  const { store, engine } = await openStore();
  const journal = new Journal(store, "work/a", refuse);
  const open = new Map<string, string>();
  for (let round = 0; round < 40; round++) {
    const names = Array.from({ length: 1 + dice.below(6) }, (_, n) => `"${round}.${n}"`);
    const places = await Promise.all(names.map((name) => journal.begin(name)));
    names.forEach((name, n) => open.set(name, places[n]!));
    for (const [name, place] of dice.shuffle([...open])) {
      if (dice.chance(0.5)) continue;
      journal.end(place);
      open.delete(name);
    }
    await journal.sweep();
    const left = await texts(store);
    eq([...open.keys()].every((name) => left.includes(name)), true);
  }
  // A new process reads what the dead one left: all open work, and at most what shared its commits.
  const { store: next } = await openStore(engine);
  const left = await texts(next);
  const companions = new Set(open.values());
  eq([...open.keys()].every((name) => left.includes(name)), true);
  const values = [];
  for await (const { entry } of readJournals(next, "work/")) values.push(entry);
  deq(new Set(values), companions);
  for (const place of open.values()) journal.end(place);
  await journal.sweep();
  deq(await texts(next), []);
  await store.close();
});

Deno.test("Journal: an entry whose deletion failed is deleted later", async () => {
  const { kv, loseNext } = losesReply(await Deno.openKv(":memory:"), false);
  const { store, clock } = await openStore(kv);
  const { promise: failed, resolve: fail } = Promise.withResolvers<unknown>();
  const journal = new Journal(store, "work/a", fail);
  journal.end(await journal.begin('"a"'));
  loseNext();
  clock.advance(500);
  await failed;
  deq([await texts(store), clock.pending], [['"a"'], 1]);
  await journal.stop();
  deq([await texts(store), clock.pending], [[], 0]);
  await store.close();
});

const packedOf = (id: string, madeMs: number, owner = "a1", expireIn = 60_000) => ({
  id,
  json: JSON.stringify([id, madeMs]),
  madeMs,
  expireIn,
  owner,
});

Deno.test("packed: a record is found only by its tenant and its time", async () => {
  const { clock, store } = await openStore();
  const { nowMs } = clock;
  const put = (id: string, tenant: typeof HERE | typeof THERE, madeMs = nowMs) =>
    store.add((to) => putPacked(to, tenant, "things", packedOf(id, madeMs)));
  await Promise.all([put("a", HERE), put("b", HERE), put("a", THERE, nowMs + 1_000)]);
  clock.nowMs += 600_000;
  await put("c", HERE, nowMs + 1_000);
  const find = (id: string, tenant: typeof HERE | typeof THERE, madeMs: number) =>
    findPacked(store, tenant, "things", { id, madeMs });
  eq(await find("a", HERE, nowMs), `["a",${nowMs}]`);
  eq(await find("b", HERE, nowMs), `["b",${nowMs}]`);
  eq(await find("a", THERE, nowMs + 1_000), `["a",${nowMs + 1_000}]`);
  eq(await find("c", HERE, nowMs + 1_000), `["c",${nowMs + 1_000}]`);
  eq(await find("a", HERE, nowMs + 1_000), null);
  eq(await find("c", HERE, nowMs), null);
  eq(await find("b", THERE, nowMs), null);
  await store.close();
});

Deno.test("packed: records of one commit within 256 ms make one value, and one entry of each owner", async () => {
  const { engine, store } = await openStore();
  const at = 256 * 1_000_000;
  const all = [["a", 0, "a1"], ["b", 1, "a2"], ["c", 255, "a1"]] as const;
  await Promise.all(
    all.map(([id, ms, owner]) =>
      store.add((to) => putPacked(to, HERE, "things", packedOf(id, at + ms, owner)))
    ),
  );
  const under = async (name: string) =>
    (await Array.fromAsync(engine.list({ prefix: [HERE.org, HERE.space, name] }))).length;
  deq([await under("things="), await under("things=by")], [1, 2]);
  for (const [id, ms] of all) {
    const found = await findPacked(store, HERE, "things", { id, madeMs: at + ms });
    eq(found, `["${id}",${at + ms}]`);
  }
  await store.close();
});

Deno.test("packed: a list has the records of its range and its owner once, newest ids first", async () => {
  const { store } = await openStore();
  const at = 256 * 1_000_000;
  const idOf = (n: number) => `r${String(n).padStart(3, "0")}`;
  // Commits come in another order than ids, and an instant has several commits.
  for (const n of Array.from({ length: 60 }, (_, n) => n * 23 % 60)) {
    const packed = packedOf(idOf(n), at + n * 40, `a${n % 3}`);
    await store.add((to) => putPacked(to, HERE, "things", packed));
  }
  const list = (from: number, before: number, owner?: string) => {
    const place = (n: number) => ({ id: idOf(n), ms: at + n * 40 });
    const range = { from: place(from), before: place(before), owner };
    return Array.fromAsync(
      packedNewestFirst(store, HERE, "things", range),
      (json) => Number(JSON.parse(json)[0].slice(1)),
    );
  };
  const down = (from: number, before: number) =>
    Array.from({ length: before - from }, (_, n) => before - 1 - n);
  deq(await list(0, 60), down(0, 60));
  deq(await list(7, 53), down(7, 53));
  deq(await list(7, 53, "a1"), down(7, 53).filter((n) => n % 3 === 1));
  deq(await list(0, 60, "a9"), []);
  await store.close();
});

Deno.test("packed: no record expires early because of another in its value", async () => {
  const HOUR_MS = 60 * 60 * 1000, kept: unknown[] = [];
  const engine = await Deno.openKv(":memory:");
  const kv = overKv(engine, {
    atomic: () => {
      const op = engine.atomic(), set = op.set.bind(op);
      op.set = (key, value, options) => (kept.push(options?.expireIn), set(key, value, options));
      return op;
    },
  });
  const { clock, store } = await openStore(kv);
  const { nowMs } = clock;
  const put = (id: string, expireIn: number) =>
    store.add((to) => putPacked(to, HERE, "things", packedOf(id, nowMs, "a1", expireIn)));
  await Promise.all([
    put("a", 24 * HOUR_MS - 5),
    put("b", 90 * 24 * HOUR_MS - 4),
    put("c", 24 * HOUR_MS - 3),
  ]);
  const [day, days] = [24 * HOUR_MS, 90 * 24 * HOUR_MS];
  deq(kept, [day, day, days, days]);
  for (const id of ["a", "b", "c"]) {
    eq(await findPacked(store, HERE, "things", { id, madeMs: nowMs }), `["${id}",${nowMs}]`);
  }
  await store.close();
});

Deno.test("tally: additions sum up in any order, and a deleted counter starts again", async () => {
  const { store } = await openStore();
  await Promise.all(
    Array.from(
      { length: 50 },
      (_, n) => store.transact((tx) => addToTally(tx, HERE, "seen", "x", n)),
    ),
  );
  eq(await readTally(store, HERE, "seen", "x"), 1225);
  eq(await readTally(store, THERE, "seen", "x"), 0);
  await store.transact((tx) => dropTally(tx, HERE, "seen", "x"));
  eq(await readTally(store, HERE, "seen", "x"), 0);
  await store.close();
});

Deno.test("RecentMap: holds at most its limit and keeps entries that are read", () => {
  const map = new RecentMap<number>(10);
  for (let n = 0; n < 1_000; n++) {
    map.set(`${n}`, n);
    eq(map.get("0"), 0);
  }
  const held = Array.from({ length: 1_000 }, (_, n) => map.get(`${n}`)).filter((n) =>
    n !== undefined
  );
  eq(held.length <= 10, true);
  map.delete("0");
  eq(map.get("0"), undefined);
});
