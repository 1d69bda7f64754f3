import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { openapi } from "../../routes/_openapi.ts";
import type { Route } from "../../routes/_route.ts";
import { SCOPE_LIST } from "../../core/scopes.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Account, World } from "../support/world.ts";

/** Every id that a path may name, as one organization has them. */
type Ids = Readonly<Record<string, string>>;

async function furnish(world: World, account: Account): Promise<Ids> {
  const key = await world.key(account, ["agents:admin", "agents:write"]);
  const agent = await ScriptedAgent.connect(world, key.value);
  const as = account.token;
  const run = await world.call("GET", `/api/exec/${agent.id}?command=uptime`, { as });
  const hook = await world.call("POST", "/api/v1/webhooks", {
    as,
    body: {
      name: "hook",
      url: "https://hooks.example.com/x",
      secret: "sixteen characters",
      events: ["command_executed"],
    },
  });
  const ping = await world.call("POST", `/api/v1/webhooks/${hook.body.id}/test`, { as });
  eq(ping.status, 202);
  const made = { name: "alerts", purpose: "alertmanager" };
  const token = await world.call("POST", "/api/v1/ingest-tokens", { as, body: made });
  const since = "2026-01-31T12:00:00.000Z";
  const path = `/api/v1/webhooks/${hook.body.id}/recover`;
  const { body: { recovery } } = await world.call("POST", path, { as, body: { since } });
  const role = `role ${account.org}`;
  await world.call("POST", "/api/v1/roles", { as, body: { name: role, permissions: [] } });
  const invited = await world.call("POST", "/api/v1/invitations", { as, body: {} });
  const sessions = await world.call("GET", "/api/account/sessions", { as });
  const installed = await world.call("POST", "/api/integrations", {
    as,
    body: { type: "github", config: { token: "a-token" } },
  });
  return {
    "/api/v1/roles/{name}": encodeURIComponent(role),
    "/api/v1/roles/user/{user_id}": account.userId,
    "/api/v1/users/{id}": account.userId,
    "/api/v1/invitations/{id}": invited.body.id,
    "/api/account/sessions/{id}": sessions.body.sessions[0].id,
    "/api/v1/ingest-tokens/{id}": token.body.id,
    "/api/integrations/{id}": installed.body.id,
    "/api/v1/agents/{id}": agent.id,
    "/api/exec/{agent_id}": agent.id,
    "/commands/{command_id}": run.body.command_id,
    "/api/v1/api-keys/{id}": key.id,
    "/api/admin/limits/{id}": key.id,
    "/api/v1/webhooks/{id}": hook.body.id,
    "/deliveries/{del_id}": ping.body.id,
    "/recoveries/{recovery_id}": recovery.id,
  };
}

/** The path of a route with somebody's ids, or null when it names none. */
function pathWith(route: Route, ids: Ids): string | null {
  let path = route.path;
  for (const [pattern, id] of Object.entries(ids)) {
    path = path.replace(pattern, pattern.replace(/\{\w+\}/, id));
  }
  return path === route.path ? null : path;
}

const MISSING: Ids = {
  "/api/v1/roles/{name}": "role missing",
  "/api/v1/roles/user/{user_id}": "usr_missing",
  "/api/v1/users/{id}": "usr_missing",
  "/api/v1/invitations/{id}": "inv_missing",
  "/api/account/sessions/{id}": "ses_missing",
  "/api/v1/ingest-tokens/{id}": "itk_missing",
  "/api/integrations/{id}": "int_missing",
  "/api/v1/agents/{id}": "agt_missing",
  "/api/exec/{agent_id}": "agt_missing",
  "/commands/{command_id}": "cmd_missing",
  "/api/v1/api-keys/{id}": "key_missing",
  "/api/admin/limits/{id}": "key_missing",
  "/api/v1/webhooks/{id}": "whk_missing",
  "/deliveries/{del_id}": "dlv_missing",
  "/recoveries/{recovery_id}": "rcv_missing",
};

/** A query that a route with a required one takes. */
const QUERIES: Readonly<Record<string, string>> = {
  "api_keys.explain": "?scope=agents:read",
  "commands.exec": "?command=uptime",
};
const queryOf = (route: Route) => QUERIES[route.id] ?? "";
/** A body that passes the schema, for routes whose refusal must come from elsewhere. */
const BODIES: Readonly<Record<string, unknown>> = {
  "api_keys.update": { metadata: {} },
  "commands.start": { command: "id" },
  "webhooks.recover": { since: "2026-01-31T12:00:00.000Z" },
  "webhooks.update": { name: "renamed" },
  "roles.update": { permissions: [] },
  "roles.assign": { user_id: "usr_missing" },
  "roles.revoke": { user_id: "usr_missing" },
};
/** Bodies of senders that Relay does not know the schema of take fields that it does not know. */
const isOpen = ({ body }: Route) => body!.safeParse({ surprise: true }).success;
const bodyOf = (route: Route) => route.body === undefined ? undefined : BODIES[route.id] ?? {};

/** Everything stored but what a refusal may leave: log rows, counters and the use of keys. */
async function stored(world: World): Promise<Map<string, string>> {
  await world.settle();
  const rows = new Map<string, string>();
  for await (const { key, versionstamp } of world.kv.list({ prefix: [] })) {
    const left = key[0] === "~" || ["log", "api_key_usage@"].includes(String(key[2]));
    if (!left) rows.set(key.join("/"), versionstamp);
  }
  return rows;
}

const guarded = routes.filter((route) => !("public" in route.access));

Deno.test("access: no credential and bad ones are 401, and change nothing", async () => {
  await using world = await World.open();
  const ids = await furnish(world, await world.signUp());
  const before = await stored(world);
  for (const route of guarded) {
    const path = (pathWith(route, ids) ?? route.path) + queryOf(route);
    const none = await world.call(route.method, path, { body: bodyOf(route) });
    deq([route.id, none.status, none.body.error.code], [route.id, 401, "MISSING_CREDENTIALS"]);
    for (const as of ["nonsense", "svc_live_typo", "a.b.c"]) {
      const answer = await world.call(route.method, path, { as, body: bodyOf(route) });
      eq(answer.status, 401, `${route.id} with ${as}`);
      ok(answer.headers.get("www-authenticate"));
    }
  }
  deq(await stored(world), before);
});

Deno.test("access: a key without the right is 403 with what is missing, on record, and changes nothing", async () => {
  await using world = await World.open();
  const account = await world.signUp();
  const ids = await furnish(world, account);
  for (const route of guarded.filter((route) => "scope" in route.access)) {
    const needed = [(route.access as { scope: string | string[] }).scope].flat();
    const others = SCOPE_LIST.filter((scope) => !needed.includes(scope));
    const key = await world.key(account, others);
    const before = await stored(world);
    const path = (pathWith(route, ids) ?? route.path) + queryOf(route);
    const answer = await world.call(route.method, path, { as: key.value, body: bodyOf(route) });
    deq([route.id, answer.status, answer.body.error.code], [route.id, 403, "INSUFFICIENT_SCOPES"]);
    deq(answer.body.error.details.required, needed);
    deq(await stored(world), before);
    const trail = await world.trail(account);
    deq(trail.slice(-2), ["access_denied", "api_key_used"]);
  }
});

Deno.test("access: what is closed to the test space is 403 there, on record, and changes nothing", async () => {
  await using world = await World.open();
  const account = await world.signUp();
  const ids = await furnish(world, account);
  const key = await world.key(account, SCOPE_LIST, { type: "test" });
  const closed = routes.filter((route) => route.liveOnly);
  ok(closed.length > 0);
  const before = await stored(world);
  for (const route of closed) {
    const path = (pathWith(route, ids) ?? route.path) + queryOf(route);
    const inTest = { as: account.token, headers: { "x-relay-space": "test" } };
    for (const caller of [{ as: key.value }, inTest]) {
      const answer = await world.call(route.method, path, { ...caller, body: bodyOf(route) });
      deq([route.id, answer.status, answer.body.error.code], [route.id, 403, "FORBIDDEN"]);
    }
    const unchecked = `${path}${path.includes("?") ? "&" : "?"}surprise=1`;
    const live = await world.call(route.method, unchecked, { as: account.token });
    eq(live.status, 400, `${route.id} answered ${live.text}`);
  }
  deq(await stored(world), before);
  const trail = await world.call("GET", "/api/audit?event_type=access_denied", {
    as: account.token,
    headers: { "x-relay-space": "test" },
  });
  eq(trail.body.events.length, 2 * closed.length);
  const { paths } = openapi(routes, "1.0.0");
  for (const { path, method } of closed) {
    ok(paths[path]![method.toLowerCase()]!.description.includes("Closed to the test space"));
  }
});

Deno.test("access: another organization's resource is byte for byte a missing one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const ids = await furnish(world, owner);
  const before = await stored(world);
  for (const route of guarded) {
    const theirs = pathWith(route, ids), missing = pathWith(route, MISSING);
    if (theirs === null || missing === null) continue;
    const as = stranger.token;
    const seen = await world.call(route.method, theirs + queryOf(route), {
      as,
      body: bodyOf(route),
    });
    const gone = await world.call(route.method, missing + queryOf(route), {
      as,
      body: bodyOf(route),
    });
    // Who is not of the host learns nothing from its routes.
    eq(seen.status, "host" in route.access ? 403 : 404, `${route.id} answered ${seen.text}`);
    for (const answer of [seen, gone]) delete answer.body.error.details.request_id;
    deq([route.id, seen.body], [route.id, gone.body]);
  }
  deq(await stored(world), before);
});

Deno.test("access: malformed bodies are refused with the path of the fault, and change nothing", async () => {
  await using world = await World.open();
  const account = await world.signUp();
  const ids = await furnish(world, account);
  const before = await stored(world);
  const json = { "content-type": "application/json" };
  for (const route of routes.filter((route) => route.body !== undefined)) {
    const path = pathWith(route, ids) ?? route.path;
    const send = (body: unknown, headers = json) =>
      world.call(route.method, path, { as: account.token, body, headers });
    const broken: [number, unknown, Record<string, string>?][] = [
      [400, "{"],
      [400, "[]"],
      [400, "null"],
      ...(isOpen(route) ? [] : [[400, { surprise: true }] as [number, unknown]]),
      [400, new Uint8Array([0x22, 0xff, 0x22])],
      [413, `"${"x".repeat(route.bodyBytesMax ?? 1024 * 1024)}"`],
      [415, "a=b", { "content-type": "application/x-www-form-urlencoded" }],
    ];
    for (const [status, body, headers] of broken) {
      const answer = await send(body, headers as typeof json);
      eq(answer.status, status, `${route.id} answered ${answer.text}`);
      ok(answer.body.error.code && answer.body.error.message);
      if (status === 400) ok(answer.body.error.details.issues[0].path.startsWith("body"));
    }
  }
  deq(await stored(world), before);
});

Deno.test("access: wrong methods, paths and queries get the error object", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const cases: [string, string, number, string][] = [
    ["GET", "/nowhere", 404, "NOT_FOUND"],
    ["GET", "/api/v1/agents/%zz", 404, "AGENT_NOT_FOUND"],
    ["GET", `/api/v1/agents/${"x".repeat(200)}`, 400, "VALIDATION_FAILED"],
    ["PUT", "/api/v1/agents", 405, "METHOD_NOT_ALLOWED"],
    ["HEAD", "/api/exec/agt_x?command=id", 405, "METHOD_NOT_ALLOWED"],
    ["GET", "/api/v1/agents?limit=0", 400, "VALIDATION_FAILED"],
    ["GET", "/api/v1/agents?limit=x", 400, "VALIDATION_FAILED"],
    ["GET", "/api/v1/agents?limt=5", 400, "VALIDATION_FAILED"],
    ["GET", "/api/exec/agt_x", 400, "VALIDATION_FAILED"],
    ["GET", "/api/exec/agt_x?command=id&timeout=601", 400, "VALIDATION_FAILED"],
    ["GET", "/api/audit?start_time=yesterday", 400, "VALIDATION_FAILED"],
    ["GET", "/api/audit?cursor=nonsense", 400, "VALIDATION_FAILED"],
    ["GET", "/ws", 426, "UPGRADE_REQUIRED"],
  ];
  for (const [method, path, status, code] of cases) {
    const answer = await world.call(method, path, { as: token });
    eq(answer.status, status, `${method} ${path} answered ${answer.text}`);
    if (method !== "HEAD") eq(answer.body.error.code, code);
    ok(answer.headers.get("x-request-id"));
    for (const name of ["limit", "remaining", "reset"]) {
      ok(answer.headers.get(`x-ratelimit-${name}`), `${path} lacks ${name}`);
    }
  }
});
