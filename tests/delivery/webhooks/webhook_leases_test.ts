import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { OutboundResponse } from "../../../core/ports/ports.ts";
import { readLedger } from "../../../core/delivery/webhooks/ledger.ts";
import { deliveries } from "../../../kv/records/webhook.ts";
import { mortal, overKv, shared } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import {
  act,
  answering,
  happen,
  hear,
  HOOKS,
  liveOf,
  namesSent,
  newest,
  responding,
} from "./hook_fixtures.ts";
import { rawRows } from "../../support/raw_rows.ts";

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** The names of all rows of deliveries, index entries and leases included. */
async function rowsOf(world: World): Promise<string[]> {
  const names: string[] = [];
  for (const { kind } of await rawRows(world.kv)) {
    if (/^deliver(ies|y_)/.test(kind)) names.push(kind);
  }
  return names.sort();
}

Deno.test("leases: a delivery sent at once leaves only its record and its index entries", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  await happen(world, owner);
  await world.settle();
  deq(await rowsOf(world), ["deliveries", "deliveries.log"]);
  deq([(await newest(world, owner, hook.id)).status, namesSent(world)], ["succeeded", ["one"]]);
});

Deno.test("leases: an attempt is durable before it is sent, and filters find those under way", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const slow = await hear(world, owner, { url: "https://slow.example.com/" });
  const quick = await hear(world, owner, { url: "https://quick.example.com/" });
  await happen(world, owner, "first");
  await world.settle();
  const answers: (() => void)[] = [];
  const seen: unknown[] = [];
  world.network.request = async ({ url, headers }) => {
    const row = await world.app.store.get(deliveries, liveOf(owner), headers["webhook-id"]!);
    seen.push(row?.status);
    if (url === quick.url) return responding(204);
    return await new Promise<OutboundResponse>((resolve) =>
      answers.push(() => resolve(responding(204)))
    );
  };
  await happen(world, owner, "second");
  await world.app.log.flush();
  while (seen.length < 2 || answers.length < 1 || world.app.deliveries.underWay > 1) await turn();
  deq(seen, ["sending", "sending"]);
  const total = async (id: string, query: string) => {
    const path = `${HOOKS}/${id}/deliveries${query}`;
    return (await world.call("GET", path, { as: owner.token })).body.pagination.total;
  };
  deq(
    [
      await total(slow.id, "?status=sending"),
      await total(slow.id, "?status=succeeded"),
      await total(slow.id, "?status=pending"),
      await total(slow.id, "?held=false"),
      await total(quick.id, "?status=sending"),
      await total(quick.id, "?status=succeeded"),
    ],
    [1, 1, 0, 2, 0, 2],
  );
  for (const answer of answers) answer();
  await world.settle();
  deq([await total(slow.id, "?status=sending"), await total(slow.id, "?status=succeeded")], [0, 2]);
});

Deno.test("leases: when a lease expires, only its unfinished deliveries are due again", async () => {
  const kv = await Deno.openKv(":memory:");
  const process = mortal(kv);
  const dead = await World.open({ kv: process.kv });
  const owner = await dead.signUp();
  const ids: string[] = [];
  for (let n = 0; n < 20; n++) {
    ids.push((await hear(dead, owner, { url: `https://r${n}.example.com/` })).id);
  }
  let asked = 0;
  dead.network.request = async () => {
    if (++asked === 5) return responding(204);
    // One has ended; the outcomes of the others are never recorded.
    while (process.alive) await turn();
    return responding(204);
  };
  await happen(dead, owner);
  await dead.app.log.flush();
  while (dead.app.deliveries.underWay !== 19) await turn();
  process.alive = false;
  await dead.settle();
  await using world = await World.open({ kv, seed: 2 });
  answering(world, 204);
  await world.advance(29_999);
  eq(world.network.sent.length, 0);
  await world.advance(1);
  eq(world.network.sent.length, 19);
  const attempts: number[] = [];
  for (const id of ids) attempts.push((await newest(world, owner, id)).attempt);
  deq(attempts.sort(), [1, ...Array(19).fill(2)]);
  const { accepted, delivered, pending } = await readLedger(world.app.store);
  deq([accepted, delivered, pending], [20, 20, 0]);
  eq((await rowsOf(world)).filter((name) => name.startsWith("delivery_leases")).length, 0);
});

/** A process that stands still between its claim of a delivery and the reply of the store, until `wake`. */
async function standingStill() {
  const engine = await Deno.openKv(":memory:");
  const frozen = Promise.withResolvers<void>(), claimed = Promise.withResolvers<void>();
  const kv = overKv(engine, {
    close: () => {},
    atomic: () => {
      const op = engine.atomic();
      const { set, commit } = { set: op.set.bind(op), commit: op.commit.bind(op) };
      let grants = false;
      op.set = (key, value, options) => {
        grants ||= key[2] === "delivery_leases";
        return set(key, value, options);
      };
      op.commit = async () => {
        const result = await commit();
        if (!grants) return result;
        claimed.resolve();
        await frozen.promise;
        return result;
      };
      return op;
    },
  });
  const one = await World.open({ kv, sole: false });
  const owner = await one.signUp();
  const hook = await hear(one, owner);
  answering(one, 204);
  await happen(one, owner);
  const settling = one.settle();
  await claimed.promise;
  return {
    one,
    owner,
    hook,
    engine,
    async wake(nowMs: number) {
      one.clock.nowMs = nowMs;
      frozen.resolve();
      await settling;
      await one.settle();
    },
  };
}

Deno.test("leases: a process that stood still since its claim sends nothing, because another may have taken over", async () => {
  const { one, owner, hook, engine, wake } = await standingStill();
  const two = await World.open({ kv: shared(engine), sole: false, seed: 2 });
  answering(two, 204);
  await two.advance(30_000);
  eq(two.network.sent.length, 1);
  await wake(two.clock.nowMs);
  eq(one.network.sent.length, 0);
  eq((await newest(two, owner, hook.id)).status, "succeeded");
  await two[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  engine.close();
});

Deno.test("leases: a delivery that its process was too slow to send is sent when the lease has ended", async () => {
  const { one, owner, hook, engine, wake } = await standingStill();
  await wake(one.clock.nowMs + 20_000);
  eq(one.network.sent.length, 0);
  await one.advance(10_000);
  eq(one.network.sent.length, 1);
  eq((await newest(one, owner, hook.id)).status, "succeeded");
  await one[Symbol.asyncDispose]();
  engine.close();
});

const YEAR_MS = 365 * 24 * 60 * 60 * 1000;

Deno.test("leases: a lease granted while the clock was far ahead is reclaimed at the next start", async () => {
  const kv = await Deno.openKv(":memory:");
  const process = mortal(kv);
  const dead = await World.open({ kv: process.kv });
  const owner = await dead.signUp();
  const hook = await hear(dead, owner);
  dead.clock.nowMs += YEAR_MS;
  const asked = Promise.withResolvers<void>();
  dead.network.request = async () => {
    asked.resolve();
    while (process.alive) await turn();
    return responding(204);
  };
  await happen(dead, owner);
  await dead.app.log.flush();
  await asked.promise;
  process.alive = false;
  await dead.settle();
  await using world = await World.open({ kv, seed: 2 });
  await world.settle();
  deq(namesSent(world), ["one"]);
  const { status, attempt } = await newest(world, owner, hook.id);
  deq([status, attempt], ["succeeded", 2]);
  deq(await rowsOf(world), ["deliveries", "deliveries.log", "delivery_attempts"]);
});

Deno.test("delivery: one put off while the clock was far ahead is attempted once the clock jumps back", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  const rightMs = world.clock.nowMs;
  world.clock.nowMs += YEAR_MS;
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  world.clock.nowMs = rightMs;
  answering(world, 204);
  world.app.deliveries.sweep();
  await world.settle();
  deq((await newest(world, owner, hook.id)).status, "succeeded");
});

Deno.test("delivery: any number put off while the clock was far ahead is sent once the clock jumps back", async () => {
  for (const held of [false, true]) {
    await using world = await World.open();
    const owner = await world.signUp();
    const hook = await hear(world, owner);
    const rightMs = world.clock.nowMs;
    if (held) await act(world, owner, hook.id, "disable");
    world.clock.nowMs += YEAR_MS;
    answering(world, 500);
    const names = Array.from({ length: 40 }, (_, at) => `${at}`);
    for (const name of names) await happen(world, owner, name);
    await world.settle();
    world.clock.nowMs = rightMs;
    answering(world, 204);
    world.network.sent.length = 0;
    if (held) await act(world, owner, hook.id, "enable");
    else world.app.deliveries.sweep();
    await world.settle();
    deq(namesSent(world), names);
  }
});
