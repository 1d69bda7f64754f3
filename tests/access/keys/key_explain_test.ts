import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { World } from "../../support/world.ts";
import { colleague, HOUR_MS, KEYS, managerKey, rotate, setUser } from "./key_fixtures.ts";

const explain = async (world: World, id: string, as: string, scope: string) =>
  await world.call("GET", `${KEYS}/${id}/explain?scope=${scope}`, { as });

/** The checks that an explanation says have failed. */
async function failures(world: World, id: string, as: string, scope: string): Promise<string[]> {
  const { status, body } = await explain(world, id, as, scope);
  eq(status, 200);
  const failed = body.reasons.filter((reason: { ok: boolean }) => !reason.ok);
  eq(body.allowed, failed.length === 0);
  return failed.map((reason: { check: string }) => reason.check);
}

const MINUTE_END = "2030-01-01T00:01:00.000Z";

Deno.test("api_keys.explain: shows the key, its creator, its organization and the limits in force", async () => {
  await using world = await World.open({ config: {} });
  await world.signUp(); // the host, whose plan has no limit
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "agents:write"]);
  const { status, body } = await explain(world, key.id, owner.token, "agents:write");
  eq(status, 200);
  const { reasons, ...rest } = body;
  deq(rest, {
    key_id: key.id,
    scope: "agents:write",
    allowed: true,
    key: {
      status: "active",
      scopes: ["agents:read", "agents:write"],
      type: "live",
      space: "live",
      expires_at: "2030-04-01T00:00:00.000Z",
    },
    creator: { id: owner.userId, active: true, roles: ["owner"], has_scope: true },
    organization: { id: owner.org, active: true, plan: "starter" },
    limits: {
      key: {
        requests_per_minute: { limit: 100, remaining: 100, reset_at: MINUTE_END },
        mcp_calls_per_minute: { limit: 60, remaining: 60, reset_at: MINUTE_END },
        max_concurrent: { limit: 10, remaining: 10, reset_at: null },
        burst_per_10_seconds: {
          limit: 120,
          remaining: 120,
          reset_at: "2030-01-01T00:00:10.000Z",
        },
        webhook_deliveries_per_minute: { limit: 50, remaining: 50, reset_at: MINUTE_END },
      },
      organization: { requests_per_minute: { limit: 100, remaining: 98, reset_at: MINUTE_END } },
    },
  });
  deq(reasons.map(({ check, ok }: { check: string; ok: boolean }) => [check, ok]), [
    ["key_status", true],
    ["key_scope", true],
    ["creator_active", true],
    ["creator_scope", true],
    ["organization_active", true],
  ]);
});

Deno.test("api_keys.explain: names each check that fails, and only those", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const admin = await colleague(world, owner, ["admin"]);
  const key = await world.key(owner, ["agents:read", "policy:write"], { expires_days: 1 });
  const failed = (scope: string) => failures(world, key.id, admin, scope);
  deq([await failed("agents:read"), await failed("policy:write")], [[], []]);
  deq(await failed("agents:write"), ["key_scope"]);
  await setUser(world, owner, { roles: ["viewer"] });
  deq([await failed("agents:read"), await failed("policy:write")], [[], ["creator_scope"]]);
  deq(await failed("agents:write"), ["key_scope", "creator_scope"]);
  await setUser(world, owner, { roles: ["owner"], active: false });
  deq(await failed("agents:read"), ["creator_active"]);
  await setUser(world, owner, { active: true });
  const as = await managerKey(world, owner);
  eq((await rotate(world, key.id, as, 1)).status, 200);
  deq(await failed("agents:read"), []);
  eq((await explain(world, key.id, admin, "agents:read")).body.key.status, "rotating");
  world.clock.nowMs += 24 * HOUR_MS;
  deq(await failures(world, key.id, as, "agents:read"), ["key_status"]);
  await world.call("POST", `${KEYS}/${key.id}/revoke`, { as });
  const { body } = await explain(world, key.id, as, "agents:read");
  eq(body.key.status, "revoked");
  ok(body.reasons[0].message.includes("revoked"));
});

Deno.test("api_keys.explain: is open to every caller who may read the key, the key included", async () => {
  await using world = await World.open({ config: {} });
  const owner = await world.signUp();
  const [key, other] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"]),
  ];
  eq((await explain(world, key.id, key.value, "agents:read")).body.allowed, true);
  eq((await explain(world, key.id, other.value, "agents:read")).status, 404);
  const test = await world.key(owner, ["system:read"], { type: "test" });
  eq((await explain(world, key.id, test.value, "agents:read")).status, 404);
  const seen = await explain(world, test.id, owner.token, "system:read");
  deq([seen.body.key.space, seen.body.limits.key.requests_per_minute.limit], ["test", 30]);
  const stranger = await world.signUp();
  eq((await explain(world, key.id, stranger.token, "agents:read")).status, 404);
});

Deno.test("api_keys.explain: shows what is left of each limit after the key's use", async () => {
  await using world = await World.open({ config: {} });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const left = async () => {
    const { limits } = (await explain(world, key.id, owner.token, "agents:read")).body;
    return [
      limits.key.requests_per_minute.remaining,
      limits.key.burst_per_10_seconds.remaining,
      limits.key.mcp_calls_per_minute.remaining,
    ];
  };
  deq(await left(), [100, 120, 60]);
  for (let n = 0; n < 7; n++) await world.call("GET", "/api/v1/agents", { as: key.value });
  deq(await left(), [93, 113, 60]);
  await world.clock.advance(10_000);
  deq(await left(), [93, 120, 60]);
  await world.clock.advance(50_000);
  deq(await left(), [100, 120, 60]);
});

Deno.test("api_keys: answers show the limits that the host set for a key or its organization", async () => {
  await using world = await World.open({ config: {} });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  await world.app.store.transact(async (tx) => {
    const home = { org: owner.org, space: "live" } as const;
    const record = (await tx.get(apiKeys, home, key.id))!;
    tx.put(apiKeys, home, {
      ...record,
      limits: { requests_per_minute: 7, mcp_calls_per_minute: null },
    });
    const organization = (await tx.get(organizations, SYSTEM, owner.org))!;
    tx.put(organizations, SYSTEM, { ...organization, limits: { requests_per_minute: null } });
  });
  const { body } = await explain(world, key.id, owner.token, "agents:read");
  const { key: own, organization } = body.limits;
  const limitsOf = (all: object) => Object.entries(all).map(([name, { limit }]) => [name, limit]);
  deq(Object.fromEntries(limitsOf(own)), {
    requests_per_minute: 7,
    mcp_calls_per_minute: 2_147_483_647,
    max_concurrent: 10,
    burst_per_10_seconds: 120,
    webhook_deliveries_per_minute: 50,
  });
  deq(organization.requests_per_minute, {
    limit: 2_147_483_647,
    remaining: 2_147_483_647,
    reset_at: null,
  });
  const shown = (await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token })).body;
  deq(shown.rate_limits, {
    requests_per_minute: 7,
    mcp_calls_per_minute: 2_147_483_647,
    max_concurrent: 10,
  });
});
