import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { type Account, World } from "../support/world.ts";

const MINUTE_MS = 60_000;
const pathOf = (id: string) => `/api/admin/limits/${id}`;

/** A host organization with a key, on a clock that stands at the beginning of a minute. */
async function hosted(config: Record<string, unknown> = {}) {
  const world = await World.open({ config });
  const host = await world.signUp();
  const key = await world.key(host, ["agents:read"]);
  await world.advance(MINUTE_MS);
  return { world, host, key };
}

const put = (world: World, { token }: Account, id: string, body: unknown) =>
  world.call("PUT", pathOf(id), { as: token, body });
const get = (world: World, { token }: Account, id: string) =>
  world.call("GET", pathOf(id), { as: token });

/** How many of the next requests of a key are admitted, up to `most`. */
async function admitted(world: World, as: string, most: number): Promise<number> {
  for (let n = 0; n < most; n++) {
    if ((await world.call("GET", "/api/v1/agents", { as })).status === 429) return n;
  }
  return most;
}

Deno.test("limits: the host's override of a key applies to the next request when raised, lowered or removed", async () => {
  const { world, host, key } = await hosted();
  await using _ = world;
  eq(await admitted(world, key.value, 120), 100);
  eq((await put(world, host, key.id, { requests_per_minute: 103 })).status, 200);
  eq(await admitted(world, key.value, 120), 3);
  await put(world, host, key.id, { requests_per_minute: null, burst_per_10_seconds: 118 });
  eq(await admitted(world, key.value, 120), 15);
  await world.advance(MINUTE_MS);
  eq(await admitted(world, key.value, 20), 20);
  // What was unlimited was not counted.
  await put(world, host, key.id, { requests_per_minute: 30 });
  eq(await admitted(world, key.value, 20), 20);
  await put(world, host, key.id, { requests_per_minute: 5 });
  eq(await admitted(world, key.value, 1), 0);
  const removed = await put(world, host, key.id, {});
  deq(removed.body.overrides, {});
  eq(await admitted(world, key.value, 120), 80);
});

Deno.test("limits: the host's override of an organization replaces its plan's limit for keys and users", async () => {
  const { world, host } = await hosted();
  await using _ = world;
  const guest = await world.signUp();
  eq((await put(world, host, guest.org, { requests_per_minute: 4 })).status, 200);
  const key = await world.key(guest, ["agents:read"]);
  eq(await admitted(world, key.value, 9), 3);
  eq(await admitted(world, guest.token, 9), 0);
  await put(world, host, guest.org, { requests_per_minute: null });
  const answer = await world.call("GET", "/api/v1/agents", { as: guest.token });
  eq(answer.headers.get("x-ratelimit-limit"), "2147483647");
  eq((await put(world, host, guest.org, {})).body.limits[0].limit, 100);
});

Deno.test("limits.get: shows the limits in force, their sources, and what is left", async () => {
  const { world, host, key } = await hosted();
  await using _ = world;
  const minute = new Date(world.clock.nowMs + MINUTE_MS).toISOString();
  const burst = new Date(world.clock.nowMs + 10_000).toISOString();
  await put(world, host, key.id, { mcp_calls_per_minute: 7, max_concurrent: null });
  for (let n = 0; n < 3; n++) await world.call("GET", "/api/v1/agents", { as: key.value });
  const { body } = await get(world, host, key.id);
  const row = (name: string, scope: string, limit: number, source: string, more: unknown[]) => {
    const [window_seconds, remaining, resets_at] = more;
    return { name, scope, limit, source, window_seconds, remaining, resets_at };
  };
  const own = "configuration";
  deq(body, {
    id: key.id,
    type: "api_key",
    organization_id: host.org,
    plan: "enterprise",
    overrides: { mcp_calls_per_minute: 7, max_concurrent: null },
    limits: [
      row("burst_per_10_seconds", "burst", 120, own, [10, 117, burst]),
      row("requests_per_minute", "key", 100, own, [60, 97, minute]),
      row("mcp_calls_per_minute", "mcp", 7, "override", [60, 7, minute]),
      row("max_concurrent", "connections", 2147483647, "override", [null, 2147483647, null]),
      row("webhook_deliveries_per_minute", "deliveries", 50, own, [60, 50, minute]),
      row("requests_per_minute", "organization", 2147483647, "plan", [60, 2147483647, null]),
    ],
  });
  const plan = await get(world, host, host.org);
  deq([plan.body.type, plan.body.overrides], ["organization", {}]);
  deq(plan.body.limits, [
    row("requests_per_minute", "organization", 2147483647, "plan", [60, 2147483647, null]),
  ]);
  const guest = await world.signUp();
  await get(world, guest, guest.org);
  deq((await get(world, guest, guest.org)).body.limits, [
    row("requests_per_minute", "organization", 100, "plan", [60, 98, minute]),
  ]);
});

Deno.test("limits: only the host changes them, others see their own, and missing ones look the same as others'", async () => {
  const { world, host, key } = await hosted();
  await using _ = world;
  const guest = await world.signUp();
  const theirs = await world.key(guest, ["agents:read"]);
  for (const id of [theirs.id, guest.org, key.id, host.org, "key_none"]) {
    const refused = await put(world, guest, id, { requests_per_minute: 1 });
    deq([refused.status, refused.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  }
  const seen = async (by: Account, id: string) => (await get(world, by, id)).status;
  deq([await seen(guest, theirs.id), await seen(guest, guest.org)], [200, 200]);
  deq([await seen(guest, key.id), await seen(guest, host.org)], [404, 404]);
  deq([await seen(host, theirs.id), await seen(host, guest.org)], [200, 200]);
  for (const id of ["key_none", "org_none", guest.userId]) {
    eq(await seen(host, id), 404);
    eq((await put(world, host, id, {})).status, 404);
  }
});

Deno.test("limits.set: a change is recorded; invalid ones are refused with their path and change nothing", async () => {
  const { world, host, key } = await hosted();
  await using _ = world;
  for (
    const [body, path] of [
      [{ requests_per_minute: 0 }, "body.requests_per_minute"],
      [{ burst_per_10_seconds: 1.5 }, "body.burst_per_10_seconds"],
      [{ max_concurrent: "3" }, "body.max_concurrent"],
      [{ mcp_calls_per_minute: 2_147_483_647 }, "body.mcp_calls_per_minute"],
      [{ requests_per_hour: 5 }, "body"],
    ] as const
  ) {
    const answer = await put(world, host, key.id, body);
    deq([answer.status, answer.body.error.details.issues[0].path], [400, path]);
  }
  const misplaced = await put(world, host, host.org, { max_concurrent: 3 });
  deq([misplaced.status, misplaced.body.error.details.issues[0].path], [
    400,
    "body.max_concurrent",
  ]);
  deq((await get(world, host, key.id)).body.overrides, {});
  await put(world, host, key.id, { requests_per_minute: 500 });
  const { body } = await world.call("GET", "/api/audit?event_type=limits_changed", {
    as: host.token,
  });
  eq(body.events.length, 1);
  const [{ resource_id, details }] = body.events;
  deq([resource_id, details], [key.id, {
    type: "api_key",
    organization_id: host.org,
    overrides: { requests_per_minute: 500 },
  }]);
});

Deno.test("limits: on a shared store an override applies to the next request on every instance", async () => {
  const kv = await Deno.openKv(":memory:");
  const close = kv.close.bind(kv);
  kv.close = () => {};
  {
    await using one = await World.open({ kv, sole: false, config: {} });
    await using two = await World.open({ kv, sole: false, config: {}, clock: one.clock, seed: 2 });
    const host = await one.signUp();
    const key = await one.key(host, ["agents:read"]);
    const status = async (world: World) => {
      const answer = world.call("GET", "/api/v1/agents", { as: key.value });
      let waiting = true;
      answer.finally(() => waiting = false);
      while (waiting) {
        one.clock.advance(5);
        await new Promise((resolve) => setTimeout(resolve, 0));
      }
      return (await answer).status;
    };
    deq([await status(one), await status(two)], [200, 200]);
    await put(one, host, key.id, { requests_per_minute: 2 });
    deq([await status(one), await status(two)], [429, 429]);
    await put(two, host, key.id, {});
    deq([await status(one), await status(two)], [200, 200]);
  }
  close();
});
