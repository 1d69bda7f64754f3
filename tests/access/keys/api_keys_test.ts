import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { OUTBOX } from "../../../kv/log/line.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { users } from "../../../kv/records/user.ts";
import { overKv } from "../../support/kv.ts";
import { type Account, World } from "../../support/world.ts";
import { rawRows } from "../../support/raw_rows.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const PATH = "/api/v1/api-keys";

/** What of the log is durable right now, sequenced or not, oldest first. */
async function durableTypes(world: World): Promise<string[]> {
  const types: string[] = [];
  const decoder = new TextDecoder();
  for await (const { value } of world.kv.list<Uint8Array>({ prefix: OUTBOX })) {
    for (const line of decoder.decode(value).split("\n")) {
      types.push(/"event_type":"(\w+)"/.exec(line)![1]!);
    }
  }
  return types;
}

async function keyRows(world: World): Promise<number> {
  let rows = 0;
  for (const { kind } of await rawRows(world.kv)) if (kind === "api_keys") rows++;
  return rows;
}

async function reasonOf(world: World, value: string): Promise<string> {
  const answer = await world.call("GET", "/api/account/info", { as: value });
  deq([answer.status, answer.body.error.code], [401, "INVALID_API_KEY"]);
  return answer.body.error.details.reason;
}

async function setRoles(world: World, { org, userId }: Account, roles: string[]): Promise<void> {
  const tenant: Tenant = { org, space: "live" };
  await world.app.store.transact(async (tx) => {
    tx.put(users, tenant, { ...(await tx.get(users, tenant, userId))!, roles });
  });
}

Deno.test("api_keys.create: only this answer shows the value, no later answer and no stored row", async () => {
  await using world = await World.open({ config: {} });
  const { token, userId } = await world.signUp();
  const body = {
    name: "ci",
    description: "for the pipeline",
    scopes: ["agents:read", "agents:write"],
    expires_days: 30,
    metadata: { client: "ci", environment: "staging", nested: { a: [1] } },
  };
  const made = await world.call("POST", PATH, { as: token, body });
  eq(made.status, 201);
  const { id, key, ...record } = made.body;
  const { body: { sessions } } = await world.call("GET", "/api/account/sessions", { as: token });
  ok(/^svc_live_[0-9A-Za-z]{49}$/.test(key));
  const { expires_days: _, ...said } = body;
  deq(record, {
    ...said,
    type: "live",
    created_by: userId,
    created_with: { kind: "session", id: sessions[0].id },
    created_at: "2030-01-01T00:00:00.000Z",
    expires_at: "2030-01-31T00:00:00.000Z",
    rotated_at: null,
    grace_period_ends: null,
    last_used: null,
    status: "active",
    notice: null,
    rate_limits: { requests_per_minute: 100, mcp_calls_per_minute: 60, max_concurrent: 10 },
  });
  const masked = `${key.slice(0, 13)}…`;
  const got = await world.call("GET", `${PATH}/${id}`, { as: token });
  deq(got.body, { id, key: masked, ...record });
  const listed = await world.call("GET", PATH, { as: token });
  deq(listed.body.api_keys, [got.body]);
  await world.settle();
  for (const { value } of await rawRows(world.kv)) {
    const text = value instanceof Uint8Array
      ? new TextDecoder().decode(value)
      : Deno.inspect(value, { depth: 9 });
    ok(!text.includes(key.slice(9)));
  }
});

Deno.test("api_keys.create: missing fields get their defaults", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { body } = await world.call("POST", PATH, {
    as: token,
    body: { name: "k", scopes: ["agents:read"] },
  });
  deq([body.type, body.description, body.metadata], ["live", "", {}]);
  eq(Date.parse(body.expires_at) - Date.parse(body.created_at), 90 * DAY_MS);
});

Deno.test("api_keys.create: refuses rights that the creator lacks, names them, and stores nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const limited = await world.key(owner, ["system:write", "agents:read"]);
  const before = await keyRows(world);
  const answer = await world.call("POST", PATH, {
    as: limited.value,
    body: { name: "more", scopes: ["agents:read", "agents:write", "policy:write"] },
  });
  deq([answer.status, answer.body.error.code], [403, "INSUFFICIENT_SCOPES"]);
  const { required, granted } = answer.body.error.details;
  deq(required, ["agents:write", "policy:write"]);
  deq(granted.toSorted(), ["agents:read", "system:write"]);
  eq(await keyRows(world), before);
  const child = await world.call("POST", PATH, {
    as: limited.value,
    body: { name: "less", scopes: ["agents:read"] },
  });
  eq(child.status, 201);
  eq(child.body.created_by, owner.userId);
});

Deno.test("api_keys.create: names the path of each error and stores nothing", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const good = { name: "k", scopes: ["agents:read"] };
  const cases: [Record<string, unknown>, string][] = [
    [{ name: "" }, "body.name"],
    [{ name: "x".repeat(101) }, "body.name"],
    [{ name: " padded" }, "body.name"],
    [{ name: "line\nbreak" }, "body.name"],
    [{ name: 7 }, "body.name"],
    [{ description: "x".repeat(1001) }, "body.description"],
    [{ scopes: [] }, "body.scopes"],
    [{ scopes: "agents:read" }, "body.scopes"],
    [{ scopes: ["agents:read", "agents:fly"] }, "body.scopes.1"],
    [{ scopes: ["agents:read", "agents:read"] }, "body.scopes"],
    [{ type: "prod" }, "body.type"],
    [{ expires_days: 0 }, "body.expires_days"],
    [{ expires_days: -1 }, "body.expires_days"],
    [{ expires_days: 1.5 }, "body.expires_days"],
    [{ expires_days: 3651 }, "body.expires_days"],
    [{ expires_days: 1_000_000 }, "body.expires_days"],
    [{ expires_days: "90" }, "body.expires_days"],
    [{ metadata: { big: "é".repeat(8 * 1024) } }, "body.metadata"],
    [{ metadata: [] }, "body.metadata"],
    [{ surprise: 1 }, "body"],
    [{ name: undefined }, "body.name"],
    [{ scopes: undefined }, "body.scopes"],
  ];
  for (const [change, path] of cases) {
    const answer = await world.call("POST", PATH, { as: token, body: { ...good, ...change } });
    const shown = JSON.stringify(change).slice(0, 60);
    deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"], shown);
    deq(
      answer.body.error.details.issues.map((issue: { path: string }) => issue.path),
      [path],
      shown,
    );
  }
  const several = await world.call("POST", PATH, { as: token, body: { name: "", scopes: ["x"] } });
  eq(several.body.error.details.issues.length, 2);
  eq(await keyRows(world), 0);
  const most = { ...good, expires_days: 3650, metadata: { big: "x".repeat(16 * 1024 - 10) } };
  eq((await world.call("POST", PATH, { as: token, body: most })).status, 201);
});

Deno.test("api_keys: both headers take the key, and Authorization takes precedence", async () => {
  await using world = await World.open();
  const key = await world.key(await world.signUp(), ["agents:read"]);
  const forms = [
    { authorization: `Bearer ${key.value}` },
    { authorization: `bearer  ${key.value}` },
    { "x-api-key": key.value },
    { authorization: `Bearer ${key.value}`, "x-api-key": "junk" },
  ];
  for (const headers of forms) {
    const { body } = await world.call("GET", "/api/account/info", { headers });
    eq(body.credential.id, key.id);
  }
  for (
    const authorization of [key.value, `Basic ${key.value}`, "Bearer", `Bearer ${key.value} x`]
  ) {
    const answer = await world.call("GET", "/api/account/info", { headers: { authorization } });
    eq(answer.status, 401, authorization);
  }
});

Deno.test("api_keys: a typo is refused without a read of the store, an unknown key with two", async () => {
  const engine = await Deno.openKv(":memory:");
  let reads = 0;
  const kv = overKv(engine, {
    get: (...args: Parameters<Deno.Kv["get"]>) => {
      reads++;
      return engine.get(...args) as never;
    },
  });
  await using world = await World.open({ kv });
  const { value } = await world.key(await world.signUp(), ["agents:read"]);
  const swap = (at: number) =>
    `${value.slice(0, at)}${value[at] === "a" ? "b" : "a"}${value.slice(at + 1)}`;
  await world.settle();
  reads = 0;
  for (const typo of [swap(9), swap(30), swap(57), value.slice(0, -1), `${value}0`, "svc_live_"]) {
    eq(await reasonOf(world, typo), "malformed");
  }
  eq(await reasonOf(world, value.replace("live", "test")), "malformed");
  eq(reads, 0);
  const stranger = await World.open({ seed: 9 });
  const other = await stranger.key(await stranger.signUp(), ["agents:read"]);
  eq(await reasonOf(world, other.value), "unknown");
  // It might be a value of now, or one from before a rotation.
  eq(reads, 2);
  await stranger[Symbol.asyncDispose]();
});

Deno.test("api_keys: the request after a revoke, a delete or the expiry is refused, with the reason", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [revoked, deleted, short] = [
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"]),
    await world.key(owner, ["agents:read"], { expires_days: 1 }),
  ];
  for (const { value } of [revoked, deleted, short]) {
    eq((await world.call("GET", "/api/v1/agents", { as: value })).status, 200);
  }
  const act = await world.call("POST", `${PATH}/${revoked.id}/revoke`, { as: owner.token });
  deq([act.status, act.body.status], [200, "revoked"]);
  eq(await reasonOf(world, revoked.value), "revoked");
  const again = await world.call("POST", `${PATH}/${revoked.id}/revoke`, { as: owner.token });
  deq([again.status, again.body.error.code], [409, "CONFLICT"]);
  const gone = await world.call("DELETE", `${PATH}/${deleted.id}`, { as: owner.token });
  deq([gone.status, gone.text], [204, ""]);
  eq(await reasonOf(world, deleted.value), "unknown");
  eq((await world.call("GET", `${PATH}/${deleted.id}`, { as: owner.token })).status, 404);
  world.clock.nowMs += DAY_MS - 1;
  eq((await world.call("GET", "/api/v1/agents", { as: short.value })).status, 200);
  world.clock.nowMs += 1;
  eq(await reasonOf(world, short.value), "expired");
});

Deno.test("api_keys: a key loses at once what its creator loses, and gets it back", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "agents:admin", "policy:write"]);
  const scopes = async () =>
    (await world.call("GET", "/api/account/info", { as: key.value })).body.scopes;
  deq(await scopes(), ["agents:read", "agents:admin", "policy:write"]);
  await setRoles(world, owner, ["viewer"]);
  deq(await scopes(), ["agents:read"]);
  const refused = await world.call("DELETE", "/api/v1/agents/agt_x", { as: key.value });
  deq([refused.status, refused.body.error.details], [403, {
    ...refused.body.error.details,
    required: ["agents:admin"],
    granted: ["agents:read"],
  }]);
  await setRoles(world, owner, []);
  deq(await scopes(), []);
  await setRoles(world, owner, ["owner"]);
  eq((await scopes()).length, 3);
});

Deno.test("api_keys: creation, use, refusal, revocation and deletion are in the log before the answer", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await world.settle();
  const answered = async (call: Promise<unknown>) => {
    await call;
    const types = await durableTypes(world);
    await world.settle();
    return types;
  };
  const made = world.key(owner, ["agents:read"]);
  deq(await answered(made), ["api_key_created"]);
  const { id, value } = await made;
  const use = (method: string, path: string, body?: unknown) =>
    answered(world.call(method, path, { as: value, body }));
  deq(await use("GET", "/api/v1/agents"), ["api_key_used"]);
  deq(await use("GET", "/api/v1/agents/agt_none"), ["api_key_used"]);
  deq(await use("GET", "/api/v1/agents?limit=none"), ["api_key_used"]);
  deq(await use("POST", PATH, {}), ["access_denied", "api_key_used"]);
  const manage = (method: string, path: string) =>
    answered(world.call(method, `${PATH}/${id}${path}`, { as: owner.token }));
  deq(await manage("POST", "/revoke"), ["api_key_revoked"]);
  deq(await use("GET", "/api/v1/agents"), []);
  deq(await manage("DELETE", ""), ["api_key_deleted"]);
  const { body } = await world.call("GET", `/api/audit?resource_id=${id}`, { as: owner.token });
  const rows = body.events.map((event: { event_type: string; actor: string; details: unknown }) => [
    event.event_type,
    event.actor,
    event.details,
  ]);
  const used = (endpoint: string, status: number) => ["api_key_used", id, { endpoint, status }];
  deq(rows.reverse(), [
    ["api_key_created", owner.userId, { name: "a key", scopes: ["agents:read"], type: "live" }],
    used("GET /api/v1/agents", 200),
    used("GET /api/v1/agents/{id}", 404),
    used("GET /api/v1/agents", 400),
    used("POST /api/v1/api-keys", 403),
    ["api_key_revoked", owner.userId, { name: "a key" }],
    ["api_key_deleted", owner.userId, { name: "a key" }],
  ]);
});
