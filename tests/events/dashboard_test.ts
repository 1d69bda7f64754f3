import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { medianWait, waitStatistic } from "../../core/events/statistics.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { overKv } from "../support/kv.ts";
import { mulberry32 } from "../support/random.ts";
import { type Account, World } from "../support/world.ts";

const HOUR_MS = 60 * 60 * 1000;
const RISKY = "systemctl stop nginx";
const HARMFUL = "rm -rf /";

const stats = async (world: World, { token }: Account) => {
  await world.shareCounts();
  const { status, body } = await world.call("GET", "/api/admin/dashboard-stats", { as: token });
  eq(status, 200);
  return body;
};

/** A host, a guest with an agent, and somebody who approves what the guest asks for. */
async function furnished(kv?: Deno.Kv) {
  const world = await World.open(kv === undefined ? {} : { kv });
  const host = await world.signUp();
  const guest = await world.signUp();
  const approver = await world.join(guest, ["operator"]);
  const key = await world.key(guest, ["agents:admin"]);
  const agent = await ScriptedAgent.connect(world, key.value);
  const run = (command: string) =>
    world.call("GET", `/api/exec/${agent.id}?command=${encodeURIComponent(command)}`, {
      as: guest.token,
    });
  return { world, host, guest, approver, agent, run };
}

Deno.test("dashboard: agents, outcomes, denials, approvals, deliveries and requests, for their own hour", async () => {
  const { world, host, guest, approver, agent, run } = await furnished();
  await using _ = world;
  await world.call("POST", "/api/v1/webhooks", {
    as: guest.token,
    body: {
      name: "hook",
      url: "https://hooks.example.com/x",
      secret: "sixteen characters",
      events: ["command_denied"],
    },
  });
  eq((await run("uptime")).status, 200);
  const denied = await run(HARMFUL);
  eq(denied.status, 403);
  const waits = await run(RISKY);
  eq(waits.status, 202);
  await world.settle();
  const before = await stats(world, guest);
  eq(before.approvals_waiting, 1);
  await world.advance(50_000);
  const decided = await world.call("POST", `/api/shield/approve/${waits.body.approval_id}`, {
    as: approver.token,
  });
  eq(decided.status, 200);
  await world.settle();
  const now = await stats(world, guest);
  deq(now.scope, "organization");
  deq(now.agents, { online: 1, degraded: 0, offline: 0, total: 1 });
  deq(now.last_24_hours.commands, { succeeded: 2, denied: 1 });
  const rule = denied.body.error.details.shield_result.rule_ids[0];
  deq(now.last_24_hours.denials, { [rule]: 1 });
  deq(now.last_24_hours.deliveries, { succeeded: 1 });
  deq([now.approvals_waiting, now.last_24_hours.approvals_decided], [0, 1]);
  const wait = now.last_24_hours.median_wait_seconds;
  ok(wait >= 50 && wait <= 60, `${wait} s`);
  eq(now.last_24_hours.client_errors, 1);
  deq(now.last_30_days, now.last_24_hours);
  const all = await stats(world, host);
  eq(all.scope, "installation");
  deq(all.agents, now.agents);
  deq(all.last_24_hours.commands, now.last_24_hours.commands);
  ok(all.last_24_hours.requests > now.last_24_hours.requests);
  await world.call("DELETE", `/api/v1/agents/${agent.id}`, { as: guest.token });
  eq((await stats(world, guest)).agents.total, 0);
});

Deno.test("dashboard: only votes of people count as decisions, and each command counts by its outcome", async () => {
  const { world, guest, approver, agent, run } = await furnished();
  await using _ = world;
  const reader = { ...guest, token: (await world.key(guest, ["system:read"])).value };
  const ask = async () => (await run(RISKY)).body;
  const { approval_id } = await ask();
  await world.advance(5_000);
  await world.call("POST", `/api/shield/reject/${approval_id}`, { as: approver.token });
  const { command_id } = await ask();
  const path = `/api/v1/agents/${agent.id}/commands/${command_id}/cancel`;
  await world.call("POST", path, { as: guest.token });
  await ask();
  await world.advance(HOUR_MS + 60_000);
  await world.settle();
  const { last_24_hours: told, approvals_waiting } = await stats(world, reader);
  deq(told.commands, { rejected: 1, cancelled: 1, expired: 1 });
  deq([approvals_waiting, told.approvals_decided], [0, 1]);
  ok(told.median_wait_seconds >= 5 && told.median_wait_seconds <= 6);
});

Deno.test("dashboard: activity is counted per hour and per day and leaves the totals after 30 days", async () => {
  const { world, host, run } = await furnished();
  await using _ = world;
  const reader = { ...host, token: (await world.key(host, ["system:read"])).value };
  const hourOf = () => new Date(Math.floor(world.clock.nowMs / HOUR_MS) * HOUR_MS).toISOString();
  const first = hourOf();
  await run("uptime");
  world.clock.nowMs += HOUR_MS;
  await world.call("POST", "/api/v1/login", { body: { email: "x@example.com", password: "x" } });
  const body = await stats(world, reader);
  deq([body.by_hour.length, body.by_day.length], [24, 30]);
  const at = (start: string) => body.by_hour.find((row: { start: string }) => row.start === start);
  deq([at(first).commands, at(hourOf()).commands], [{ succeeded: 1 }, {}]);
  const days = body.by_day.reduce((n: number, row: { requests: number }) => n + row.requests, 0);
  eq(days, body.last_30_days.requests);
  eq(body.last_24_hours.client_errors, at(hourOf()).client_errors + at(first).client_errors);
  world.clock.nowMs += 30 * 24 * HOUR_MS;
  const later = await stats(world, reader);
  deq(later.last_30_days.commands, {});
});

Deno.test("dashboard: activity counts today again after a clock that was a year ahead", async () => {
  const { world, guest, run } = await furnished();
  await using _ = world;
  const reader = { ...guest, token: (await world.key(guest, ["system:read"])).value };
  const nowMs = world.clock.nowMs;
  world.clock.nowMs += 365 * 24 * HOUR_MS;
  world.app.activity.count({ org: guest.org, space: "live" }, "commands.succeeded");
  world.clock.nowMs = nowMs;
  await run("uptime");
  deq((await stats(world, reader)).last_24_hours.commands, { succeeded: 1 });
});

Deno.test("dashboard: a restart keeps the counts and counts nothing twice", async () => {
  const kv = await Deno.openKv(":memory:");
  const guests: Account[] = [];
  const lasting = overKv(kv, { close: () => {} });
  {
    const { world, guest, run } = await furnished(lasting);
    await using _ = world;
    guests.push(guest);
    await run("uptime");
  }
  await using world = await World.open({ kv, seed: 2 });
  const login = await world.call("POST", "/api/v1/login", {
    body: { email: guests[0]!.email, password: "password 2" },
  });
  const again = { ...guests[0]!, token: login.body.token };
  await stats(world, again);
  await world.app.activity.flush();
  const body = await stats(world, again);
  deq(body.last_24_hours.commands, { succeeded: 1 });
  deq(body.agents, { online: 0, degraded: 0, offline: 1, total: 1 });
});

Deno.test("dashboard: the number of reads does not grow with the history", async () => {
  const engine = await Deno.openKv(":memory:");
  let reads = 0;
  const counted = <T>(value: T): T => {
    reads++;
    return value;
  };
  const kv = overKv(engine, {
    get: (...args) => counted(engine.get(...args)) as never,
    getMany: (...args) => counted(engine.getMany(...args)) as never,
    list: (...args) => {
      const iterator = engine.list(...args);
      const next = iterator.next.bind(iterator);
      iterator.next = () => counted(next());
      return iterator as never;
    },
  });
  const { world, host, run } = await furnished(kv);
  await using _ = world;
  const cost = async () => {
    await world.advance(1000);
    const before = reads;
    await stats(world, host);
    return reads - before;
  };
  await run("uptime");
  await run(HARMFUL);
  const few = await cost();
  for (let n = 0; n < 60; n++) await run(n % 3 === 0 ? HARMFUL : "uptime");
  eq(await cost(), few);
  console.log(`a read of the statistics costs ${few} reads of the store`);
});

Deno.test("dashboard: however many rules deny, everything else is counted by its own name, for all", async () => {
  const { world, host, guest } = await furnished();
  await using _ = world;
  const tenant = { org: guest.org, space: "live" } as const;
  const { activity } = world.app;
  for (let n = 0; n < 400; n++) activity.count(tenant, `denials.${"r".repeat(120)}${n}`);
  for (const name of ["requests.server_errors", "commands.timed_out", "waits.10"]) {
    activity.count(tenant, name);
  }
  await activity.flush();
  for (const account of [host, guest]) {
    const { last_24_hours: told } = await stats(world, account);
    deq([told.server_errors, told.commands.timed_out], [1, 1]);
    deq([told.approvals_decided, told.median_wait_seconds], [1, 6]);
    const denials = Object.values<number>(told.denials);
    eq(denials.reduce((sum, n) => sum + n, 0), 400);
    ok(told.denials.others > 0 && denials.length <= 200, `${denials.length}`);
  }
});

Deno.test("medianWait: at least the median and at most a fifth above it, for random waits", () => {
  const seed = Number(Deno.env.get("RELAY_DASHBOARD_SEED") ?? Math.floor(Math.random() * 1e5));
  console.log(`RELAY_DASHBOARD_SEED=${seed}`);
  const unit = mulberry32(seed);
  for (let round = 0; round < 200; round++) {
    const waits = Array.from(
      { length: 1 + Math.floor(unit() * 40) },
      () => Math.floor(1000 * 10 ** (unit() * 5)),
    ).sort((a, b) => a - b);
    const buckets: Record<string, number> = {};
    for (const ms of waits) {
      const name = waitStatistic(ms).slice("waits.".length);
      buckets[name] = (buckets[name] ?? 0) + 1;
    }
    const median = waits[Math.ceil(waits.length / 2) - 1]! / 1000;
    const told = medianWait(buckets)!;
    ok(told >= median - 0.5 && told <= median * 1.2 + 0.5, `${told} of ${median}`);
  }
  eq(medianWait({}), null);
});

Deno.test("dashboard: activity in the test space is not counted", async () => {
  const { world, host, guest } = await furnished();
  await using _ = world;
  for (const who of [host, guest]) {
    const requests = async () => (await stats(world, who)).last_24_hours.requests;
    const before = await requests();
    const headers = { "x-relay-space": "test" };
    eq((await world.call("GET", "/api/v1/agents", { as: who.token, headers })).status, 200);
    // The look itself is one.
    eq(await requests(), before + 1);
  }
});
