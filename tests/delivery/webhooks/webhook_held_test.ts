import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { readLedger } from "../../../core/delivery/webhooks/ledger.ts";
import { committing, mortal, overKv, shared } from "../../support/kv.ts";
import { random } from "../../support/random.ts";
import { World } from "../../support/world.ts";
import { deliveriesOf, eventsOf } from "../../support/linked_agent.ts";
import {
  act,
  answering,
  happen,
  hear,
  HOOKS,
  letDie,
  namesSent,
  newest,
  responding,
} from "./hook_fixtures.ts";
import { FIRST_RETRY_MS } from "../../support/ladder.ts";

const range = (n: number) => Array.from({ length: n }, (_, at) => `${at}`);

Deno.test("webhooks.disable: holds deliveries, and webhooks.enable sends them in the order of the events", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  const off = await act(world, owner, hook.id, "disable");
  eq(off.active, false);
  for (const name of range(40)) await happen(world, owner, name);
  const { deliveries: [held], pagination } = await deliveriesOf(world, owner, hook.id);
  deq([held.status, held.held, held.final, held.attempt, held.next_attempt_at, pagination.total], [
    "pending",
    true,
    false,
    0,
    null,
    40,
  ]);
  await world.advance(60_000);
  deq(world.network.sent, []);
  const on = await act(world, owner, hook.id, "enable");
  eq(on.active, true);
  await happen(world, owner, "after");
  await world.settle();
  eq(namesSent(world).length, 41);
  deq(namesSent(world).filter((name) => name !== "after"), range(40));
  const job = await world.call("GET", `${HOOKS}/${hook.id}/recoveries/${on.release_id}`, {
    as: owner.token,
  });
  const { kind, state, requeued, discarded } = job.body;
  deq([kind, state, requeued, discarded], ["release", "completed", 40, 0]);
  // A repetition changes nothing and causes no event.
  await act(world, owner, hook.id, "enable");
  await act(world, owner, hook.id, "disable");
  await act(world, owner, hook.id, "disable");
  const events = (await eventsOf(world, owner, hook.id)).slice(1);
  deq(events.map(({ event_type, actor, details }) => [event_type, actor, details]), [
    ["webhook_disabled", owner.userId, { name: "hook", url: hook.url }],
    ["webhook_enabled", owner.userId, { name: "hook", held: "deliver" }],
    ["webhook_disabled", owner.userId, { name: "hook", url: hook.url }],
  ]);
});

Deno.test("webhooks.enable: discards all held deliveries, or those of events before an instant", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { active: false });
  const states = async () =>
    (await deliveriesOf(world, owner, hook.id)).deliveries
      .map(({ status, error, final }: Record<string, unknown>) => [status, error, final]);
  await happen(world, owner, "old");
  await world.advance(1_000);
  await happen(world, owner, "new");
  await world.settle();
  await act(world, owner, hook.id, "enable", { held: { since: "2030-01-01T00:00:01.000Z" } });
  await world.settle();
  deq(namesSent(world), ["new"]);
  const discarded = ["failed", "discarded", true];
  deq(await states(), [["succeeded", null, false], discarded]);
  await act(world, owner, hook.id, "disable");
  await happen(world, owner, "unwanted");
  await world.settle();
  await act(world, owner, hook.id, "enable", { held: "discard" });
  await world.settle();
  deq((await states())[0], discarded);
  eq(world.network.sent.length, 1);
  const { accepted, delivered, discarded: n } = await readLedger(world.app.store);
  deq([accepted, delivered, n], [3, 1, 2]);
  const bad = await world.call("POST", `${HOOKS}/${hook.id}/enable`, {
    as: owner.token,
    body: { held: "drop" },
  });
  deq([bad.status, bad.body.error.details.issues[0].path], [400, "body.held"]);
});

Deno.test("webhooks.enable: sends what an auto-disabled webhook missed, held retries included", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 2 } });
  answering(world, 500);
  await happen(world, owner, "first");
  await world.advance(10_000);
  await happen(world, owner, "second");
  await world.advance(100_000);
  await happen(world, owner, "third");
  await world.settle();
  eq(world.network.sent.length, 3);
  answering(world, 204);
  await act(world, owner, hook.id, "enable");
  await world.settle();
  deq(namesSent(world).slice(3), ["second", "third"]);
  const { deliveries } = await deliveriesOf(world, owner, hook.id);
  deq(deliveries.map((d: Record<string, unknown>) => [d["status"], d["attempt"]]), [
    ["succeeded", 1],
    ["succeeded", 2],
    ["failed", 2],
  ]);
});

Deno.test("webhooks.enable: the next process continues an interrupted release, each delivery once", async () => {
  const kv = await Deno.openKv(":memory:");
  let commits = Infinity;
  const mortal = committing(shared(kv), (commit) => {
    if (commits-- <= 0) throw new Error("this process is dead");
    return commit();
  });
  const dead = await World.open({ kv: mortal });
  const owner = await dead.signUp();
  const hook = await hear(dead, owner, { active: false });
  for (const name of range(200)) await happen(dead, owner, name);
  await dead.settle();
  commits = 8; // those of the answer, and some of the release
  const on = await act(dead, owner, hook.id, "enable");
  await letDie(dead);
  ok(dead.network.sent.length < 200);
  await using world = await World.open({ kv, seed: 2 });
  await world.advance(60_000);
  const path = `${HOOKS}/${hook.id}/recoveries/${on.release_id}`;
  const { body } = await world.call("GET", path, { as: owner.token });
  deq([body.state, body.requeued], ["completed", 200]);
  const { accepted, delivered } = await readLedger(world.app.store);
  deq([accepted, delivered], [200, 200]);
  const sent = new Set([...namesSent(dead), ...namesSent(world)]);
  eq(sent.size, 200);
});

Deno.test("webhooks.disable: stops a running release, and the next enable sends the rest", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner, { active: false });
  for (const name of range(100)) await happen(world, owner, name);
  await world.settle();
  const on = await act(world, owner, hook.id, "enable");
  await act(world, owner, hook.id, "disable");
  await world.settle();
  const before = world.network.sent.length;
  ok(before < 100, "the release was over already");
  const path = `${HOOKS}/${hook.id}/recoveries/${on.release_id}`;
  eq((await world.call("GET", path, { as: owner.token })).body.state, "cancelled");
  const left = await deliveriesOf(world, owner, hook.id, "?held=true");
  eq(left.pagination.total, 100 - before);
  await act(world, owner, hook.id, "enable");
  await world.settle();
  deq(namesSent(world).toSorted((a, b) => Number(a) - Number(b)), range(100));
});

/** Runs events, switches and failing receivers concurrently; answers the deliveries that are left. */
async function turmoil(seed: number): Promise<void> {
  const dice = random(seed);
  await using world = await World.open({ seed });
  const owner = await world.signUp();
  const hook = await hear(world, owner, { retry_policy: { max_retries: 2 } });
  await world.settle();
  world.network.reply = () => dice.chance(0.3) ? 500 : 204;
  const under: Promise<unknown>[] = [];
  let events = 0;
  for (let step = 0; step < 60; step++) {
    const what = dice.unit();
    if (what < 0.6) under.push(happen(world, owner, `${events++}`));
    else if (what < 0.75) under.push(act(world, owner, hook.id, "disable"));
    else if (what < 0.9) under.push(act(world, owner, hook.id, "enable"));
    else await world.advance(dice.pick([1, 5_000, 31_000]));
    if (dice.chance(0.3)) await Promise.all(under.splice(0));
  }
  await Promise.all(under);
  world.network.reply = () => 204;
  await world.settle();
  await act(world, owner, hook.id, "enable");
  await world.advance(FIRST_RETRY_MS);
  const said = JSON.stringify(await readLedger(world.app.store));
  const { accepted, held, pending, delivered, exhausted } = await readLedger(world.app.store);
  deq([accepted, held, pending], [events, 0, 0], `seed ${seed}: ${said}`);
  eq(delivered + exhausted, events, `seed ${seed}: ${said}`);
  const answered = new Set(namesSent(world));
  eq(answered.size, events, `seed ${seed}`);
}

Deno.test("held: random sequences of disabling, enabling and failures strand and lose no delivery", async () => {
  for (let seed = 1; seed <= 25; seed++) await turmoil(seed);
});

/** A world that runs `meanwhile` once, right after a webhook's row or the list of webhooks was read. */
async function raced(reading: "get" | "list") {
  const engine = await Deno.openKv(":memory:");
  const race: { meanwhile: (() => Promise<void>) | null } = { meanwhile: null };
  const happens = async () => {
    const { meanwhile } = race;
    race.meanwhile = null;
    await meanwhile?.();
  };
  const kv = overKv(engine, {
    getMany: (async (keys: readonly Deno.KvKey[], options?: object) => {
      const entries = await engine.getMany(keys, options);
      if (reading === "list" && keys[0]![2] === "webhooks") await happens();
      return entries;
    }) as Deno.Kv["getMany"],
  });
  const world = await World.open({ kv, sole: false });
  const { store } = world.app, raw = store.raw.bind(store);
  store.raw = async (key) => {
    const entry = await raw(key);
    if (reading === "get" && key[2] === "webhooks") await happens();
    return entry;
  };
  return { world, race };
}

Deno.test("held: enabling a webhook during fan-out strands no delivery", async () => {
  const { world: opened, race } = await raced("list");
  await using world = opened;
  const owner = await world.signUp();
  const hook = await hear(world, owner, { active: false });
  await world.settle();
  race.meanwhile = async () => {
    await act(world, owner, hook.id, "enable");
    await world.app.deliveries.recoveries.idle();
  };
  await happen(world, owner);
  await world.settle();
  eq(race.meanwhile, null);
  eq(world.network.sent.length, 1);
});

Deno.test("held: enabling a webhook during an attempt strands no delivery", async () => {
  const { world: opened, race } = await raced("get");
  await using world = opened;
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  await act(world, owner, hook.id, "disable");
  await world.advance(FIRST_RETRY_MS - 1);
  answering(world, 204);
  let claims = 0;
  const enable = async () => {
    // The rate limit reads the record before the claim; the attempt reads it again.
    if (++claims < 2) {
      race.meanwhile = enable;
      return;
    }
    await act(world, owner, hook.id, "enable");
    await world.app.deliveries.recoveries.idle();
  };
  race.meanwhile = enable;
  await world.advance(40_000);
  deq([race.meanwhile, claims], [null, 2]);
  eq((await newest(world, owner, hook.id)).status, "succeeded");
});

Deno.test("held: an attempt lost with its process is shown as lost, without data of the one before", async () => {
  const kv = await Deno.openKv(":memory:");
  const process = mortal(kv);
  const dead = await World.open({ kv: process.kv });
  const owner = await dead.signUp();
  const hook = await hear(dead, owner);
  answering(dead, 500);
  await happen(dead, owner);
  await dead.settle();
  dead.network.request = () => {
    process.alive = false;
    return Promise.resolve(responding(204));
  };
  await dead.advance(FIRST_RETRY_MS);
  await letDie(dead);
  await using world = await World.open({ kv, seed: 2, clock: dead.clock });
  await act(world, owner, hook.id, "disable");
  await world.advance(31_000);
  eq((await newest(world, owner, hook.id)).held, true);
  await act(world, owner, hook.id, "enable");
  await world.settle();
  const { id } = await newest(world, owner, hook.id);
  const path = `${HOOKS}/${hook.id}/deliveries/${id}`;
  const { body: { attempts } } = await world.call("GET", path, { as: owner.token });
  deq(
    attempts.map((a: Record<string, unknown>) => [a["status"], a["error"], a["http_status"]]),
    [["failed", "http", 500], ["failed", "lost", null], ["succeeded", null, 204]],
  );
});

Deno.test("held: an attempt whose organization is switched off after the claim is made when it is on again", async () => {
  const { world: opened, race } = await raced("get");
  await using world = opened;
  const host = await world.signUp(), owner = await world.signUp();
  const hook = await hear(world, owner);
  answering(world, 500);
  await happen(world, owner);
  await world.settle();
  const toggle = (active: boolean) =>
    world.call("POST", `/api/admin/accounts/${owner.org}/toggle`, {
      as: host.token,
      body: { active },
    });
  // The rate limit reads the record before the claim; the attempt reads it again.
  race.meanwhile = async () => {
    race.meanwhile = async () => void await toggle(false);
  };
  await world.advance(60_000);
  eq(race.meanwhile, null);
  eq(world.network.sent.length, 1);
  answering(world, 204);
  await toggle(true);
  await world.settle();
  const { status, attempt, error } = await newest(world, owner, hook.id);
  deq([status, attempt, error], ["succeeded", 2, null]);
});

Deno.test("last_delivery_at: held deliveries change neither it nor the secret's last use", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  await happen(world, owner);
  await world.settle();
  const sentAt = new Date(world.clock.now()).toISOString();
  await act(world, owner, hook.id, "disable");
  await world.advance(1_000);
  await happen(world, owner, "held");
  await world.settle();
  const { body } = await world.call("GET", `${HOOKS}/${hook.id}`, { as: owner.token });
  deq([body.delivery_count, body.last_delivery_at], [1, sentAt]);
  const { body: { secrets: [secret] } } = await world.call("GET", "/api/v1/secrets", {
    as: owner.token,
  });
  deq([secret.id, secret.last_used_at], [hook.id, sentAt]);
});

Deno.test("webhooks.test: marks a test of any type as a test", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const hook = await hear(world, owner);
  await act(world, owner, hook.id, "test", { event_type: "command_denied" });
  await world.settle();
  const [request] = world.network.sent;
  const body = JSON.parse(String(request!.body));
  deq([body.event_type, body.test, body.payload.command], ["command_denied", true, "rm -rf /"]);
  eq(request!.headers["X-Service-Event"], "command_denied");
  const delivery = await newest(world, owner, hook.id);
  deq([delivery.status, delivery.test], ["succeeded", true]);
});
