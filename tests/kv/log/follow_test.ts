import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import type { Tenant } from "../../../kv/store/collection.ts";
import { followedTo, type FollowerRules, LogFollower } from "../../../kv/log/follow.ts";
import { pendingGroupPrefix, pendingKey, pendingPrefix } from "../../../kv/log/pending.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { Bench, dump, item, overKv, shared } from "../../support/kv.ts";

/** Each costs two checks, and a step one for its cursor. */
const STEP_EVENTS = 20;

/** A follower that records its events in the transaction of its step. */
function following(bench: Bench, over: Partial<FollowerRules> = {}) {
  const rules: FollowerRules = {
    name: "f",
    wants: (type) => type === "wanted",
    cares: () => Promise.resolve(true),
    step: async (tx, tenant, events) => {
      const some = events.slice(0, STEP_EVENTS);
      for (const { seq } of some) {
        const id = `${tenant.org}-${tenant.space}-${seq}`;
        const record = await tx.get(bench.items, tenant, id) ?? item(id);
        tx.put(bench.items, tenant, { ...record, n: record.n + 1 });
      }
      return { done: some.length, part: "" };
    },
    ...over,
  };
  return new LogFollower(bench.store, bench.log, rules, (error) => bench.errors.push(error));
}

const handled = async ({ store, items }: Bench, tenant: Tenant) =>
  (await store.list(items, tenant, { limit: 2000 })).items
    .map(({ id, n }) => [Number(id.split("-").at(-1)), n])
    .sort((a, b) => a[0]! - b[0]!);
const once = (n: number) => Array.from({ length: n }, (_, at) => [at + 1, 1]);
const pending = ({ kv }: Bench, name = "f") => dump(kv, pendingPrefix(name));

Deno.test("LogFollower: handles every event once, and the pending key goes", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, other } = bench;
  const follower = following(bench);
  for (let round = 1; round <= 4; round++) {
    await Promise.all(
      Array.from({ length: 50 }, () => store.append(tenant, "wanted", "{}")),
    );
    await log.flush();
    await follower.idle();
    deepStrictEqual(await handled(bench, tenant), once(50 * round));
  }
  await store.append(other, "unwanted", "{}");
  await log.flush();
  await follower.idle();
  deepStrictEqual(await handled(bench, other), [], "no follower wants it");
  deepStrictEqual(await pending(bench), []);
});

Deno.test("LogFollower.wake: handles what a process left that died after its batch", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  log.follow({ name: "f", wants: () => true });
  await store.append(tenant, "wanted", "{}");
  await log.flush();
  strictEqual((await pending(bench)).length, 1);
  const follower = following(bench);
  follower.wake();
  await follower.idle();
  deepStrictEqual(await handled(bench, tenant), once(1));
  deepStrictEqual(await pending(bench), []);
});

Deno.test("LogFollower: work that a clean stop cuts off is no error and is handled after the next start", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = new Bench(shared(kv));
  const { promise: entered, resolve: enter } = Promise.withResolvers<void>();
  const { promise: going, resolve: go } = Promise.withResolvers<void>();
  const cut = following(first, {
    cares: async () => {
      enter();
      await going;
      return true;
    },
  });
  await first.store.append(first.tenant, "wanted", "{}");
  await first.log.flush();
  await entered;
  await first.store.close();
  go();
  await cut.idle();
  deepStrictEqual(first.errors, []);
  await using bench = new Bench(kv);
  const follower = following(bench);
  follower.wake();
  await follower.idle();
  deepStrictEqual(await handled(bench, bench.tenant), once(1));
});

Deno.test("LogFollower: skips a tenant that does not care, up to that moment only", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  let cares = false;
  const follower = following(bench, { cares: () => Promise.resolve(cares) });
  const tell = async () => {
    await store.append(tenant, "wanted", "{}");
    await log.flush();
    await follower.idle();
  };
  await tell();
  await tell();
  deepStrictEqual(await pending(bench), []);
  cares = true;
  await tell();
  deepStrictEqual(await handled(bench, tenant), [[3, 1]]);
});

Deno.test("LogFollower: an event may take several commits; each part is handled once", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, items } = bench;
  const parts: string[] = [];
  const follower = following(bench, {
    step: async (tx, _, events, part) => {
      const id = `${events[0]!.seq}.${part}`;
      const seen = await tx.get(items, tenant, id);
      tx.put(items, tenant, item(id, { n: (seen?.n ?? 0) + 1 }));
      tx.afterCommit(() => parts.push(id));
      return part < "c" ? { done: 0, part: part === "" ? "b" : "c" } : { done: 1, part: "" };
    },
  });
  await store.append(tenant, "wanted", "{}");
  await store.append(tenant, "wanted", "{}");
  await log.flush();
  await follower.idle();
  deepStrictEqual(parts, ["1.", "1.b", "1.c", "2.", "2.b", "2.c"]);
});

Deno.test("LogFollower: a failing tenant is retried and blocks no other", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, other, clock, errors, items } = bench;
  let failing = true;
  const follower = following(bench, {
    step: (tx, where, events) => {
      if (failing && where.space === tenant.space) throw new Error("no");
      for (const { seq } of events) tx.put(items, where, item(`e-${seq}`, { n: 1 }));
      return Promise.resolve({ done: events.length, part: "" });
    },
  });
  await Promise.all([store.append(tenant, "wanted", "{}"), store.append(other, "wanted", "{}")]);
  await log.flush();
  await follower.idle();
  deepStrictEqual(await handled(bench, other), once(1));
  deepStrictEqual(await handled(bench, tenant), []);
  deepStrictEqual(new Set(errors.map(String)), new Set(["Error: no"]));
  failing = false;
  clock.advance(250);
  strictEqual(clock.pending, 1, "one timer, however many steps failed");
  clock.advance(749);
  await follower.idle();
  deepStrictEqual(await handled(bench, tenant), []);
  clock.advance(1);
  await follower.idle();
  deepStrictEqual(await handled(bench, tenant), once(1));
});

Deno.test("LogFollower: a step that does nothing is an error, not an endless loop", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, errors } = bench;
  const follower = following(bench, { step: () => Promise.resolve({ done: 0, part: "" }) });
  await store.append(tenant, "wanted", "{}");
  await log.flush();
  await follower.idle();
  ok(String(errors[0]).includes("no progress"));
});

Deno.test("LogFollower: a long backlog does not block other tenants", async () => {
  await using bench = await Bench.memory();
  const { store, log, items } = bench;
  const order: string[] = [];
  const [first, last] = [{ org: "a", space: "live" }, { org: "z", space: "live" }] as const;
  const follower = following(bench, {
    step: (tx, where, events) => {
      tx.put(items, where, item(`e-${events[0]!.seq}`));
      tx.afterCommit(() => order.push(where.org));
      return Promise.resolve({ done: 1, part: "" });
    },
  });
  await Promise.all(Array.from({ length: 100 }, () => store.append(first, "wanted", "{}")));
  await store.append(last, "wanted", "{}");
  await log.flush();
  await follower.idle();
  deepStrictEqual([order.length, order.indexOf("z") < 40], [101, true]);
  deepStrictEqual(await pending(bench), []);
});

Deno.test("followedTo: the lowest position of the followers, pending alone or in a group", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, other } = bench;
  let failing = true, looked = Promise.withResolvers<boolean>();
  const follower = following(bench, {
    lazy: true,
    cares: () => looked.promise,
    step: (_, where, events) => {
      if (failing && where.space === other.space && events[0]!.seq > 1) throw new Error("no");
      return Promise.resolve({ done: events.length, part: "" });
    },
  });
  const waiting = async (...tenants: Tenant[]) => {
    looked = Promise.withResolvers();
    await Promise.all(tenants.map((one) => store.append(one, "wanted", "{}")));
    await log.flush();
    const before = [await followedTo(store, log, tenant), await followedTo(store, log, other)];
    looked.resolve(true);
    await follower.idle();
    return [before, [await followedTo(store, log, tenant), await followedTo(store, log, other)]];
  };
  const done = [Infinity, Infinity];
  deepStrictEqual(await waiting(other), [[Infinity, 0], done]);
  deepStrictEqual(await waiting(tenant, other), [[0, 1], [Infinity, 1]]);
  failing = false;
  deepStrictEqual(await waiting(tenant), [[1, 1], done]);
  deepStrictEqual(await pending(bench), []);
});

Deno.test("followedTo: a tenant that a group leaves unfinished during the read is still pending", async () => {
  const engine = await Deno.openKv(":memory:");
  const get = async (key: Deno.KvKey) => {
    const entry = await engine.get(key);
    // As another instance does that ends the group and leaves this tenant unfinished.
    if (key[1] === "mark") {
      const groups = await Array.fromAsync(engine.list({ prefix: pendingGroupPrefix("f") }));
      const end = engine.atomic().set(pendingKey("f", bench.tenant), true);
      for (const group of groups) end.delete(group.key);
      await end.commit();
    }
    return entry;
  };
  await using bench = new Bench(overKv(engine, { get: get as Deno.Kv["get"] }));
  const { store, log, tenant, other } = bench;
  log.follow({ name: "f", wants: () => true });
  await Promise.all([tenant, other].map((one) => store.append(one, "wanted", "{}")));
  await log.flush();
  strictEqual(await followedTo(store, log, tenant), 0);
});

Deno.test("LogFollower: a follower with its own position goes on from it without a cursor", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant, items } = bench;
  const given: number[][] = [];
  const placeIn = async (db: Reader, where: Tenant) =>
    (await db.get(items, where, "place"))?.n ?? 0;
  const follower = following(bench, {
    bufferedEvents: 8,
    place: placeIn,
    step: async (tx, where, events) => {
      const done = Math.min(events.length, 3), n = events[done - 1]!.seq;
      // Else the pass and catchUp may both have read the same position.
      if (n <= await placeIn(tx, where)) return { done, part: "" };
      tx.put(items, where, item("place", { n }));
      tx.afterCommit(() => given.push(events.slice(0, done).map(({ seq }) => seq)));
      return { done, part: "" };
    },
  });
  for (let n = 0; n < 5; n++) await store.append(tenant, "wanted", "{}");
  await log.flush();
  await follower.idle();
  await store.append(tenant, "wanted", "{}");
  await log.flush();
  await follower.catchUp(tenant);
  await follower.idle();
  deepStrictEqual(given, [[1, 2, 3], [4, 5], [6]]);
  deepStrictEqual(await dump(bench.kv, [tenant.org, tenant.space, "log_cursors"]), []);
  deepStrictEqual(await pending(bench), []);
});

Deno.test("LogFollower: a step that another instance overtook while it read sees its new position", async () => {
  const engine = await Deno.openKv(":memory:");
  let overtake = () => Promise.resolve();
  async function* list(...args: Parameters<Deno.Kv["list"]>) {
    const isLog = (args[0] as { prefix: Deno.KvKey }).prefix[2] === "log";
    const before = overtake;
    if (isLog) overtake = () => Promise.resolve();
    if (isLog) await before();
    yield* engine.list(...args);
  }
  await using bench = new Bench(overKv(engine, { list: list as unknown as Deno.Kv["list"] }));
  const { store, log, tenant, items } = bench;
  const placeIn = async (db: Reader, where: Tenant) =>
    (await db.get(items, where, "place"))?.n ?? 0;
  const places: number[] = [];
  const rules: Partial<FollowerRules> = {
    lazy: true,
    wants: () => false,
    place: placeIn,
    step: async (tx, where, events) => {
      const at = await placeIn(tx, where), n = events.at(-1)!.seq;
      places.push(at);
      if (n > at) tx.put(items, where, item("place", { n }));
      return { done: events.length, part: "" };
    },
  };
  await using elsewhere = new Bench(shared(engine));
  const [follower, other] = [following(bench, rules), following(elsewhere, rules)];
  for (let n = 0; n < 5; n++) await store.append(tenant, "t", "{}");
  await log.flush();
  overtake = () => other.catchUp(tenant);
  await follower.catchUp(tenant);
  deepStrictEqual(places, [0, 5]);
  strictEqual(await placeIn(store, tenant), 5);
});

Deno.test("LogFollower: one pass serves hundreds of pending tenants", async () => {
  await using bench = await Bench.memory();
  const { store, log } = bench;
  let steps = 0;
  const follower = following(bench, {
    step: (tx, _, events) => {
      tx.afterCommit(() => steps += events.length);
      return Promise.resolve({ done: events.length, part: "" });
    },
  });
  await Promise.all(
    Array.from(
      { length: 400 },
      (_, n) => store.append({ org: `o${n}`, space: "live" }, "wanted", "{}"),
    ),
  );
  await log.flush();
  await follower.idle();
  strictEqual(steps, 400);
  deepStrictEqual(await pending(bench), []);
});

Deno.test("LogFollower: an event that comes while the pending key is cleared is handled", async () => {
  await using bench = await Bench.memory();
  const { store, log, tenant } = bench;
  let seen = 0, extra = 3;
  const follower = following(bench, {
    // Called in every step of a tenant, so also in the last one, before the pending key goes.
    cares: async () => {
      if (seen > 0 && extra-- > 0) {
        await store.append(tenant, "wanted", "{}");
        await log.flush();
      }
      return true;
    },
    step: (tx, _, events) => {
      tx.afterCommit(() => seen += events.length);
      return Promise.resolve({ done: events.length, part: "" });
    },
  });
  await store.append(tenant, "wanted", "{}");
  await log.flush();
  await follower.idle();
  strictEqual(seen, 4);
  deepStrictEqual(await pending(bench), []);
});

for (const when of ["before", "after"]) {
  Deno.test(`LogFollower: an event that another instance sequences ${when} the last read of the pending key is handled`, async () => {
    const engine = await Deno.openKv(":memory:");
    const options = { sole: false, hasQueue: false };
    const other = new Bench(shared(engine), "x", options);
    other.log.follow({ name: "f", wants: () => true });
    const tell = async () => {
      await other.store.append(other.tenant, "wanted", "{}");
      await other.log.flush();
    };
    let late = true;
    const get = async (...args: Parameters<Deno.Kv["get"]>) => {
      const isLate = late && args[0][1] === "mark";
      if (isLate) late = false;
      if (isLate && when === "before") await tell();
      const entry = await engine.get(...args);
      if (isLate && when === "after") await tell();
      return entry;
    };
    await using bench = new Bench(overKv(engine, { get: get as Deno.Kv["get"] }), "x", options);
    const follower = following(bench, {
      step: (tx, tenant, events) => {
        for (const { seq } of events) tx.insert(bench.items, tenant, item(`e-${seq}`, { n: 1 }));
        return Promise.resolve({ done: events.length, part: "" });
      },
    });
    await tell();
    follower.wake();
    await follower.idle();
    deepStrictEqual(await handled(bench, bench.tenant), once(2));
    deepStrictEqual(await pending(bench), []);
    strictEqual(late, false);
  });
}
