import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { Journal, readJournals } from "../../../kv/store/journal.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { findPacked, putPacked } from "../../../kv/store/packed.ts";
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

Deno.test("packed: a record is found only by its tenant and within its time", async () => {
  const { clock, store } = await openStore();
  const put = (text: string, tenant: typeof HERE | typeof THERE) =>
    store.add((to) => {
      const { nowMs } = clock;
      putPacked(to, tenant, "things", { json: text, nowMs, expireIn: 60_000 });
    });
  await Promise.all([put('["a",1]', HERE), put('["b",2]', HERE), put('["a",3]', THERE)]);
  clock.nowMs += 1_000;
  await put('["c",4]', HERE);
  const find = (start: string, tenant: typeof HERE | typeof THERE, from: number, to: number) =>
    findPacked(store, tenant, "things", start, [clock.nowMs + from, clock.nowMs + to]);
  eq(await find('["a",', HERE, -1_000, 0), '["a",1]');
  eq(await find('["b",', HERE, -1_000, 0), '["b",2]');
  eq(await find('["a",', THERE, -5_000, 5_000), '["a",3]');
  eq(await find('["c",', HERE, 0, 1), '["c",4]');
  eq(await find('["c",', HERE, -1_000, -64), null);
  eq(await find('["c",', HERE, 64, 1_000), null);
  eq(await find('["b",', THERE, -5_000, 5_000), null);
  await store.close();
});

Deno.test("packed: records of one commit within 64 ms make one value, and each is found", async () => {
  const { engine, clock, store } = await openStore();
  clock.nowMs = 64 * 1_000_000;
  const times = [0, 1, 63];
  await Promise.all(times.map((ms) => {
    clock.nowMs = 64 * 1_000_000 + ms;
    const put = { json: `["${ms}",1]`, nowMs: clock.nowMs, expireIn: 60_000 };
    return store.add((to) => putPacked(to, HERE, "things", put));
  }));
  const values = engine.list({ prefix: [HERE.org, HERE.space, "things="] });
  eq((await Array.fromAsync(values)).length, 1);
  for (const ms of times) {
    const at = 64 * 1_000_000 + ms;
    eq(await findPacked(store, HERE, "things", `["${ms}",`, [at, at + 1]), `["${ms}",1]`);
  }
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
    store.add((to) => putPacked(to, HERE, "things", { json: `["${id}",1]`, nowMs, expireIn }));
  await Promise.all([
    put("a", 24 * HOUR_MS - 5),
    put("b", 90 * 24 * HOUR_MS - 4),
    put("c", 24 * HOUR_MS - 3),
  ]);
  deq(kept, [24 * HOUR_MS, 90 * 24 * HOUR_MS]);
  for (const id of ["a", "b", "c"]) {
    const found = await findPacked(store, HERE, "things", `["${id}",`, [nowMs, nowMs + 1]);
    eq(found, `["${id}",1]`);
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
