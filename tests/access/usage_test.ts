import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../support/agent.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const PATH = "/api/v1/api-keys";
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const FLUSHED_MS = 1_000;
const FOREVER = { expires_days: 3650 };

interface Step {
  readonly from: string;
  readonly requests: number;
  readonly mcp_calls: number;
  readonly rate_limit_hits: number;
}

async function usageOf(world: World, as: string, id: string, period?: string) {
  const query = period === undefined ? "" : `?period=${period}`;
  await world.shareCounts();
  const answer = await world.call("GET", `${PATH}/${id}/usage${query}`, { as });
  eq(answer.status, 200, answer.text);
  return answer.body;
}

/** Everything that is stored of keys' usage, by tenant. */
async function rowsOf(world: World): Promise<string[]> {
  const rows: string[] = [];
  for (const { key, kind } of await rawRows(world.kv)) {
    if (kind === "api_key_usage@") rows.push(key.slice(0, 4).join("/"));
  }
  return rows;
}

const ask = (world: World, as: string, path = "/api/v1/agents") => world.call("GET", path, { as });

Deno.test("usage: every figure is exact at once, and survives a clean restart", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await World.open({ kv: shared(kv), config: {} });
  const owner = await first.signUp();
  const reader = await first.key(owner, ["system:read"]);
  const key = await first.key(owner, ["agents:read", "agents:write"]);
  const linked = await first.key(owner, ["agents:admin"]);
  const [one, two] = [
    await ScriptedAgent.connect(first, linked.value, { name: "one" }),
    await ScriptedAgent.connect(first, linked.value, { name: "two" }),
  ];
  const empty = await usageOf(first, reader.value, key.id);
  deq([empty.total_requests, empty.last_used_at, empty.top_agents], [0, null, []]);

  const statuses = async (...paths: string[]) => {
    const seen: number[] = [];
    for (const path of paths) seen.push((await ask(first, key.value, path)).status);
    return seen;
  };
  const [agents, run] = ["/api/v1/agents", "/api/exec"];
  const ofOne = `${agents}/${one.id}`, missing = `${agents}/agt_missing`;
  deq(await statuses(ofOne, ofOne, `${run}/${one.id}?command=id`, `${run}/${two.id}?command=id`), [
    200,
    200,
    200,
    200,
  ]);
  // Those that came as far as an agent, those that did not, and one that was refused by the shield.
  const rest = [missing, `${agents}?limit=0`, `/api/audit`, `${run}/${two.id}?command=rm+-rf+/`];
  deq(await statuses(...rest), [404, 400, 403, 403]);
  const upgrade = await ask(first, key.value, "/ws");
  eq(upgrade.status, 426);
  first.app.usage.mcpCall(await actorOf(first, key.value), two.id);
  const usedAt = new Date(first.clock.nowMs).toISOString();

  const expected = {
    key_id: key.id,
    name: "a key",
    period: { from: "2029-12-26", to: "2030-01-01" },
    complete: true,
    total_requests: 9,
    total_mcp_calls: 1,
    avg_requests_per_day: 1,
    rate_limit_hits: 0,
    last_used_at: usedAt,
    top_agents: [{ agent_id: one.id, requests: 3 }, { agent_id: two.id, requests: 3 }],
    top_endpoints: [
      { endpoint: "GET /api/exec/{agent_id}", calls: 3 },
      { endpoint: "GET /api/v1/agents/{id}", calls: 3 },
      { endpoint: "GET /api/audit", calls: 1 },
      { endpoint: "GET /api/v1/agents", calls: 1 },
      { endpoint: "GET /ws", calls: 1 },
    ],
    series: ["26", "27", "28", "29", "30", "31"].map((day) => step(`2029-12-${day}`))
      .concat({ ...step("2030-01-01"), requests: 9, mcp_calls: 1 }),
  };
  deq(await usageOf(first, reader.value, key.id), expected);
  await first[Symbol.asyncDispose]();
  await using second = await World.open({ kv, clock: first.clock, seed: 2 });
  deq(await usageOf(second, reader.value, key.id), expected);
  // The second process goes on counting where the first one stopped.
  await ask(second, key.value);
  await second.advance(FLUSHED_MS);
  eq((await usageOf(second, reader.value, key.id)).total_requests, 10);
});

const step = (day: string): Step => ({
  from: `${day}T00:00:00.000Z`,
  requests: 0,
  mcp_calls: 0,
  rate_limit_hits: 0,
});

async function actorOf(world: World, value: string) {
  return await world.app.authenticator.authenticate(value, "live");
}

Deno.test("usage: a refusal by a limit counts only as that, and a 401 counts for nobody", async () => {
  await using world = await World.open({
    config: { plans: { enterprise: { requests_per_minute: 6 } } },
  });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const seen: number[] = [];
  for (let n = 0; n < 8; n++) seen.push((await ask(world, key.value)).status);
  deq(seen, [200, 200, 200, 200, 200, 429, 429, 429]);
  for (const bad of [`${key.value}x`, "svc_live_typo"]) eq((await ask(world, bad)).status, 401);
  await world.advance(60_000);
  const usage = await usageOf(world, owner.token, key.id, "24h");
  deq([usage.total_requests, usage.rate_limit_hits], [5, 3]);
  deq(usage.top_endpoints, [{ endpoint: "GET /api/v1/agents", calls: 5 }]);
  await world.call("POST", `${PATH}/${key.id}/revoke`, { as: owner.token });
  eq((await ask(world, key.value)).status, 401);
  eq((await usageOf(world, owner.token, key.id)).total_requests, 5);
});

Deno.test("usage: periods end with the current hour or UTC day, to the millisecond", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const reader = await world.key(owner, ["system:read"], FOREVER);
  const key = await world.key(owner, ["agents:read"], FOREVER);
  const startMs = world.clock.nowMs;
  // Day n has n % 5 + 2 requests: one in its first millisecond, one in its last, the others at noon.
  const countOf = (day: number) => day % 5 + 2;
  const DAYS = 100;
  for (let day = 0; day < DAYS; day++) {
    const instants = [0, ...Array(day % 5).fill(DAY_MS / 2), DAY_MS - 1];
    for (const ms of instants) {
      world.clock.nowMs = startMs + day * DAY_MS + ms;
      eq((await ask(world, key.value)).status, 200);
    }
    // Some days are in the store when the next one begins, some in memory.
    if (day % 3 === 1) await world.app.usage.flush();
  }
  const lastMs = world.clock.nowMs;
  const requests = (usage: { series: Step[] }) => usage.series.map((each) => each.requests);
  const lastDays = (n: number, to: number) =>
    Array.from({ length: n }, (_, at) => countOf(to - n + 1 + at));
  for (const [period, n] of [["7d", 7], ["30d", 30], ["90d", 90]] as const) {
    const usage = await usageOf(world, reader.value, key.id, period);
    const expected = lastDays(n, DAYS - 1);
    const sum = expected.reduce((a, b) => a + b, 0);
    deq(requests(usage), expected);
    deq([usage.total_requests, usage.avg_requests_per_day], [sum, Math.round(sum / n)]);
    deq(usage.period, {
      from: new Date(startMs + (DAYS - n) * DAY_MS).toISOString().slice(0, 10),
      to: new Date(lastMs).toISOString().slice(0, 10),
    });
  }
  // At midnight the window moves by a day; an hour before, the first hour of 24 is of the same day.
  const hours = requests(await usageOf(world, reader.value, key.id, "24h"));
  deq(hours, [1, ...Array(11).fill(0), countOf(DAYS - 1) - 2, ...Array(10).fill(0), 1]);
  world.clock.nowMs = lastMs + 1;
  deq(requests(await usageOf(world, reader.value, key.id)), [...lastDays(6, DAYS - 1), 0]);
  const moved = await usageOf(world, reader.value, key.id, "24h");
  deq(requests(moved), [...hours.slice(1), 0]);
  deq(moved.series[0].from, new Date(lastMs + 1 - 23 * HOUR_MS).toISOString());
  // Long after, nothing is in any period, and when it was used last is known still.
  world.clock.nowMs = lastMs + 200 * DAY_MS;
  const late = await usageOf(world, reader.value, key.id, "90d");
  deq([late.total_requests, late.last_used_at], [0, new Date(lastMs).toISOString()]);
});

Deno.test("usage: two instances count together, also within one hour", async () => {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false, seed: 1 });
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: one.clock });
  const owner = await one.signUp();
  const reader = await one.key(owner, ["system:read"]);
  const key = await one.key(owner, ["agents:read"]);
  for (let n = 0; n < 5; n++) {
    await ask(one, key.value);
    await ask(two, key.value);
    await one.advance(400);
  }
  await ask(two, key.value);
  for (const world of [one, two]) await world.advance(FLUSHED_MS);
  const [seen, same] = [
    await usageOf(one, reader.value, key.id),
    await usageOf(two, reader.value, key.id),
  ];
  eq(seen.total_requests, 11);
  deq(same, seen);
  // What one of them deletes, the other one's counts do not bring back.
  await ask(two, key.value);
  await one.call("DELETE", `${PATH}/${key.id}`, { as: owner.token });
  for (const world of [one, two]) await world.advance(FLUSHED_MS);
  ok((await rowsOf(one)).every((row) => !row.endsWith(key.id)));
  await two[Symbol.asyncDispose]();
  await one[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("usage: a test key's counts stay in the test space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const rights = ["agents:read", "system:read"];
  const live = await world.key(owner, rights);
  const test = await world.key(owner, rights, { type: "test" });
  for (let n = 0; n < 3; n++) await ask(world, test.value);
  await world.advance(FLUSHED_MS);
  const home = `${owner.org}/test/api_key_usage@/${test.id}`;
  deq(new Set(await rowsOf(world)), new Set([home]));
  eq((await usageOf(world, test.value, test.id)).total_requests, 3);
  eq((await usageOf(world, owner.token, test.id)).total_requests, 4);
  eq((await ask(world, test.value, `${PATH}/${live.id}/usage`)).status, 404);
});

Deno.test("usage: is open to callers who may read the key, the key included; an invalid period is named", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [key, other] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"]),
  ];
  const path = `${PATH}/${key.id}/usage`;
  eq((await ask(world, key.value, path)).status, 200);
  eq((await ask(world, other.value, path)).status, 404);
  const stranger: Account = await world.signUp();
  const hidden = await ask(world, stranger.token, path);
  const missing = await ask(world, stranger.token, `${PATH}/key_missing/usage`);
  for (const { body } of [hidden, missing]) delete body.error.details.request_id;
  deq([hidden.status, hidden.body], [404, missing.body]);
  for (const period of ["0d", "7", "", "7D", "2031-Q1"]) {
    const { status, body } = await ask(world, owner.token, `${path}?period=${period}`);
    deq([status, body.error.details.issues[0].path], [400, "query.period"]);
  }
});

Deno.test("usage: a key that is deleted while it is in use leaves nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  for (let day = 0; day < 3; day++) {
    await ask(world, key.value);
    world.clock.nowMs += DAY_MS;
  }
  await world.advance(FLUSHED_MS);
  ok((await rowsOf(world)).length >= 3);
  const login = await world.call("POST", "/api/v1/login", {
    body: { email: owner.email, password: "password 1" },
  });
  await Promise.all([
    ask(world, key.value),
    world.call("DELETE", `${PATH}/${key.id}`, { as: login.body.token }),
    ask(world, key.value),
  ]);
  await world.advance(FLUSHED_MS);
  deq(await rowsOf(world), []);
});
