import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { ScriptedAgent } from "../../support/agent.ts";
import { dump } from "../../support/kv.ts";
import { type Answer, World } from "../../support/world.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import {
  colleague,
  HOUR_MS,
  keyReason,
  KEYS,
  managerKey,
  rotate,
  setUser,
} from "./key_fixtures.ts";

const patch = (world: World, id: string, as: string, body: unknown): Promise<Answer> =>
  world.call("PATCH", `${KEYS}/${id}`, { as, body });

const scopesOf = async (world: World, value: string) =>
  (await world.call("GET", "/api/account/info", { as: value })).body.scopes;

Deno.test("api_keys.update: replaces the given fields, keeps the rest, and applies to the next request", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "policy:read"], {
    metadata: { client: "ci", project: "x" },
  });
  const get = async () => (await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token })).body;
  const before = await get();
  deq(await scopesOf(world, key.value), ["agents:read", "policy:read"]);
  const metadata = { owner: "ops" };
  const first = await patch(world, key.id, owner.token, { metadata });
  eq(first.status, 200);
  deq({ ...first.body, last_used: null }, { ...before, metadata });
  deq(await scopesOf(world, key.value), ["agents:read", "policy:read"]);
  const scopes = ["audit:read"];
  const second = await patch(world, key.id, owner.token, { scopes });
  deq({ ...second.body, last_used: null }, { ...before, metadata, scopes });
  deq(await scopesOf(world, key.value), scopes);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 403);
  eq((await world.call("GET", "/api/audit", { as: key.value })).status, 200);
  const both = await patch(world, key.id, owner.token, { metadata: {}, scopes: ["agents:read"] });
  deq([both.body.metadata, both.body.scopes], [{}, ["agents:read"]]);
  deq(await get(), both.body);
});

Deno.test("api_keys.update: the trail shows the changed fields and the scopes before and after, and no row without a change", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"], { name: "ci" });
  const changes = [
    { metadata: { a: 1 } },
    { scopes: ["policy:read"] },
    { scopes: ["policy:read"], metadata: { a: 1 } },
    { scopes: ["agents:read", "policy:read"], metadata: {} },
  ];
  for (const change of changes) eq((await patch(world, id, owner.token, change)).status, 200);
  const rows = await eventsOf(world, owner, id);
  const row = (changed: string[], before: string[], after: string[]) => [
    "api_key_updated",
    owner.userId,
    { changed, name: "ci", scopes_after: after, scopes_before: before },
  ];
  deq(rows.slice(1).map(({ event_type, actor, details }) => [event_type, actor, details]), [
    row(["metadata"], ["agents:read"], ["agents:read"]),
    row(["scopes"], ["agents:read"], ["policy:read"]),
    row(["metadata", "scopes"], ["policy:read"], ["agents:read", "policy:read"]),
  ]);
});

Deno.test("api_keys.update: gives only rights that both the caller and the key's creator have now", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const manager = await world.key(owner, ["system:write", "agents:read", "policy:read"]);
  const key = await world.key(owner, ["agents:read"]);
  const refused = async (as: string, scopes: string[], required: string[]) => {
    const before = await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token });
    const { status, body } = await patch(world, key.id, as, { scopes, metadata: { a: 1 } });
    deq([status, body.error.code], [403, "INSUFFICIENT_SCOPES"]);
    deq(body.error.details.required, required);
    eq(required.some((scope) => body.error.details.granted.includes(scope)), false);
    const after = await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token });
    deq(after.body, before.body);
  };
  await refused(manager.value, ["agents:read", "agents:write"], ["agents:write"]);
  eq((await patch(world, key.id, manager.value, { scopes: ["policy:read"] })).status, 200);
  // The caller has everything, the creator nothing but reading any more.
  const admin = await colleague(world, owner, ["admin"]);
  await setUser(world, owner, { roles: ["viewer"] });
  await refused(admin, ["policy:read", "policy:write"], ["policy:write"]);
  eq((await patch(world, key.id, admin, { scopes: ["audit:read"] })).status, 200);
  await setUser(world, owner, { roles: ["owner"], active: false });
  const { status, body } = await patch(world, key.id, admin, { scopes: ["policy:read"] });
  deq([status, body.error.details.required], [403, ["policy:read"]]);
});

Deno.test("api_keys.update: revoked, expired and other people's keys stay unchanged", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = await managerKey(world, owner);
  const [revoked, expired, rotating] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"], { expires_days: 1 }),
    await world.key(owner, ["agents:read"]),
  ];
  await world.call("POST", `${KEYS}/${revoked.id}/revoke`, { as });
  world.clock.nowMs += 24 * HOUR_MS;
  for (const { id } of [revoked, expired]) {
    const before = (await world.call("GET", `${KEYS}/${id}`, { as })).body;
    const { status, body } = await patch(world, id, as, { metadata: { a: 1 } });
    deq([status, body.error.code], [409, "CONFLICT"]);
    deq((await world.call("GET", `${KEYS}/${id}`, { as })).body, before);
  }
  await rotate(world, rotating.id, as);
  const changed = await patch(world, rotating.id, as, { scopes: ["policy:read"] });
  deq([changed.status, changed.body.status], [200, "rotating"]);
  // Both values have the new rights.
  deq(await scopesOf(world, rotating.value), ["policy:read"]);
  const stranger = await managerKey(world, await world.signUp());
  eq((await patch(world, rotating.id, stranger, { metadata: {} })).status, 404);
});

Deno.test("api_keys.update: an agent's link closes at once when the key loses the right, and no other link", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const rights = ["agents:admin", "agents:read"];
  const [key, other] = [await world.key(owner, rights), await world.key(owner, rights)];
  const [agent, bystander] = [
    await ScriptedAgent.connect(world, key.value),
    await ScriptedAgent.connect(world, other.value),
  ];
  const as = owner.token;
  await patch(world, key.id, as, { scopes: ["agents:admin"], metadata: { a: 1 } });
  eq(agent.closed?.code, undefined);
  await patch(world, key.id, as, { scopes: ["agents:read"] });
  await world.settle();
  deq([agent.closed?.code, bystander.closed], [4401, null]);
});

Deno.test("api_keys.update: a name and an expiry are replaced and shown in the trail, and the old value ends with the key", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"], { name: "ci", expires_days: 90 });
  const get = async () => (await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token })).body;
  const before = await get();
  const rotated = await rotate(world, key.id, owner.token, 48);
  eq(rotated.status, 200);
  const at = (hours: number) => new Date(world.clock.nowMs + hours * HOUR_MS).toISOString();
  const [sooner, later] = [at(24), at(2 * 24)];
  const change = { ...await get(), name: "ci 2", expires_at: sooner, last_used: null };
  const { status, body } = await patch(world, key.id, owner.token, change);
  // The old value ends with the key.
  deq(
    [status, body.name, body.expires_at, body.grace_period_ends],
    [200, "ci 2", sooner, sooner],
  );
  eq((await patch(world, key.id, owner.token, { expires_at: later })).body.expires_at, later);
  const rows = (await eventsOf(world, owner, key.id))
    .filter(({ event_type }) => event_type === "api_key_updated");
  const scopes = { scopes_before: ["agents:read"], scopes_after: ["agents:read"] };
  deq(rows.map(({ details }) => details), [
    {
      ...scopes,
      name: "ci 2",
      previous_name: "ci",
      changed: ["name", "expires_at"],
      expires_at: sooner,
      previous_expires_at: before.expires_at,
    },
    {
      ...scopes,
      name: "ci 2",
      changed: ["expires_at"],
      expires_at: later,
      previous_expires_at: sooner,
    },
  ]);
  eq(await keyReason(world, key.value), null);
  world.clock.nowMs += 24 * HOUR_MS;
  deq(await Promise.all([key.value, rotated.body.new_key].map((each) => keyReason(world, each))), [
    "expired",
    null,
  ]);
  world.clock.nowMs += 24 * HOUR_MS;
  eq(await keyReason(world, rotated.body.new_key), "expired");
});

Deno.test("api_keys.update: only who may create such a key changes its expiry, and a key gives no later end than its own", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "policy:write"], { expires_days: 10 });
  const get = async () => (await world.call("GET", `${KEYS}/${key.id}`, { as: owner.token })).body;
  const before = await get();
  const at = (days: number) => new Date(world.clock.nowMs + days * 24 * HOUR_MS).toISOString();
  const refused = async (as: string, expires_at: string, code: string) => {
    const { status, body } = await patch(world, key.id, as, { expires_at, name: "other" });
    deq([status, body.error.code], [code === "VALIDATION_FAILED" ? 400 : 403, code]);
    deq({ ...await get(), last_used: null }, { ...before, last_used: null });
  };
  const narrow = await world.key(owner, ["system:write", "agents:read"]);
  const admin = await colleague(world, owner, ["admin"]);
  for (const expires_at of [at(5), at(20)]) {
    await refused(narrow.value, expires_at, "INSUFFICIENT_SCOPES");
    // The holder of an owner's key acts as the owner.
    await refused(admin, expires_at, "FORBIDDEN");
  }
  const short = await world.key(owner, ["system:write", "agents:read", "policy:write"], {
    expires_days: 15,
  });
  await refused(short.value, at(16), "VALIDATION_FAILED");
  eq((await patch(world, key.id, short.value, { expires_at: at(14) })).status, 200);
  eq((await patch(world, short.id, short.value, { expires_at: at(16) })).status, 400);
  eq((await patch(world, key.id, owner.token, { expires_at: at(3650) })).status, 200);
  eq((await patch(world, key.id, short.value, { expires_at: at(20) })).status, 200);
});

Deno.test("api_keys.create: a key is limited to its creator's rights of now", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const key = await world.key(owner, ["system:write", "agents:read", "policy:write"]);
  const make = (scopes: string[]) =>
    world.call("POST", KEYS, { as: key.value, body: { name: "k", scopes } });
  eq((await make(["policy:write"])).status, 201);
  await setUser(world, owner, { roles: ["viewer"] });
  eq((await make(["agents:read"])).status, 403);
  await setUser(world, owner, { roles: ["owner"], active: false });
  eq((await make(["agents:read"])).status, 401);
  await setUser(world, owner, { active: true });
  eq((await make(["agents:read"])).status, 201);
});

Deno.test("api_keys: invalid input is refused with the path of each error, and nothing is stored", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  const create = { name: "k", scopes: ["agents:read"] };
  const large = { big: "é".repeat(8 * 1024) };
  const paths: [string, string, unknown, string[]][] = [
    ...cases("POST", KEYS, create, [
      [{ scopes: ["agents:read", "agents:fly"] }, ["body.scopes.1"]],
      [{ scopes: ["agents:read", "agents:read"] }, ["body.scopes"]],
      [{ scopes: [] }, ["body.scopes"]],
      [{ scopes: Array(17).fill("agents:read") }, ["body.scopes"]],
      [{ expires_days: -1 }, ["body.expires_days"]],
      [{ expires_days: 0.5 }, ["body.expires_days"]],
      [{ expires_days: 1e9 }, ["body.expires_days"]],
      [{ expires_days: 3651 }, ["body.expires_days"]],
      [{ expires_days: null }, ["body.expires_days"]],
      [{ metadata: large }, ["body.metadata"]],
      [{ metadata: { a: "\ud800" } }, ["body.metadata"]],
      [{ type: "prod" }, ["body.type"]],
      [{ surprise: 1 }, ["body"]],
      [{ type: 1, scopes: ["x"], expires_days: -1, metadata: [] }, [
        "body.scopes.0",
        "body.type",
        "body.expires_days",
        "body.metadata",
      ]],
    ]),
    ...cases("PATCH", `${KEYS}/${id}`, {}, [
      [{}, ["body"]],
      [{ scopes: ["agents:fly"] }, ["body.scopes.0"]],
      [{ scopes: ["agents:read", "agents:read"] }, ["body.scopes"]],
      [{ scopes: [] }, ["body.scopes"]],
      [{ scopes: null }, ["body.scopes"]],
      [{ metadata: large }, ["body.metadata"]],
      [{ metadata: "x", scopes: "agents:read" }, ["body.metadata", "body.scopes"]],
      [{ metadata: {}, description: "other" }, ["body.description"]],
      [{ name: "" }, ["body.name"]],
      [{ name: " ci" }, ["body.name"]],
      [{ expires_at: null }, ["body.expires_at"]],
      [{ expires_at: "soon" }, ["body.expires_at"]],
      [{ expires_at: "2000-01-01T00:00:00.000Z" }, ["body.expires_at"]],
      [{ expires_at: "9999-01-01T00:00:00.000Z" }, ["body.expires_at"]],
      [{ metadata: {}, surprise: 1 }, ["body"]],
    ]),
    ...cases("POST", `${KEYS}/${id}/rotate`, {}, [
      [{ grace_period_hours: -1 }, ["body.grace_period_hours"]],
      [{ grace_period_hours: 0.5 }, ["body.grace_period_hours"]],
      [{ grace_period_hours: 169 }, ["body.grace_period_hours"]],
      [{ grace_period_hours: 1e9 }, ["body.grace_period_hours"]],
      [{ grace_period_hours: "24" }, ["body.grace_period_hours"]],
      [{ grace_period_hours: null }, ["body.grace_period_hours"]],
      [{ hours: 1 }, ["body"]],
    ]),
    ["GET", `${KEYS}/${id}/explain`, undefined, ["query.scope"]],
    ["GET", `${KEYS}/${id}/explain?scope=agents:fly`, undefined, ["query.scope"]],
    ["POST", `${KEYS}/${id}/revoke`, { why: "x" }, ["body"]],
  ];
  await world.settle();
  const before = await dump(world.kv, []);
  for (const [method, path, body, faults] of paths) {
    const answer = await world.call(method, path, { as: owner.token, body });
    const shown = `${method} ${JSON.stringify(body)?.slice(0, 80)}: ${answer.text}`;
    deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"], shown);
    const { issues } = answer.body.error.details;
    deq(issues.map((issue: { path: string }) => issue.path), faults, shown);
    ok(issues.every(({ message }: { message: string }) => message !== ""));
  }
  await world.settle();
  deq(await dump(world.kv, []), before);
});

type Case = readonly [change: Record<string, unknown>, faults: string[]];

const cases = (method: string, path: string, base: object, list: readonly Case[]) =>
  list.map(([change, faults]): [string, string, unknown, string[]] => [
    method,
    path,
    { ...base, ...change },
    faults,
  ]);
