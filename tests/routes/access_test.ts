import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { routes } from "../../routes/index.ts";
import { openapi } from "../../routes/openapi/openapi.ts";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { AGENT_RIGHTS } from "../support/linked_agent.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { rawRows } from "../support/raw_rows.ts";
import { OWN_PAGE, World } from "../support/world.ts";
import {
  bodyOf,
  furnish,
  guarded,
  isOpen,
  MISSING,
  pathWith,
  queryOf,
  stored,
} from "./access_world.ts";

Deno.test("access: missing and invalid credentials get 401 and change nothing", async () => {
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

Deno.test("access: a key without the right gets 403 with the missing right, recorded, and changes nothing", async () => {
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

Deno.test("access: the refusal of a rule is recorded once, like that of a route", async () => {
  await using world = await World.open();
  await world.signUp(); // the host, whose custom roles change nothing
  const boss = await world.signUp();
  const link = await world.key(boss, AGENT_RIGHTS);
  const agent = await ScriptedAgent.connect(world, link.value);
  const permissions = ["agents:write", "system:write"];
  await world.call("POST", "/api/v1/roles", {
    as: boss.token,
    body: { name: "clerk", permissions },
  });
  const clerk = await world.join(boss, ["clerk"]);
  const { value: key } = await world.key(clerk, permissions);
  const refused = async (as: string, method: string, path: string, body?: unknown) => {
    const before = (await world.trail(boss)).length;
    eq((await world.call(method, path, { as, body })).status, 403);
    const types = (await world.trail(boss)).slice(before);
    const newest = "/api/audit?event_type=access_denied&limit=1";
    const { body: { events: [row] } } = await world.call("GET", newest, { as: boss.token });
    return [...types, row?.details];
  };
  const endpoint = "POST /api/v1/roles/{name}/assign";
  const give = ["POST", "/api/v1/roles/owner/assign", { user_id: clerk.userId }] as const;
  deq(await refused(clerk.token, ...give), ["access_denied", { endpoint }]);
  deq(await refused(key, ...give), ["access_denied", "api_key_used", { endpoint }]);
  const more = { name: "more", scopes: ["agents:admin"] };
  const lacks = { endpoint: "POST /api/v1/api-keys", required: ["agents:admin"] };
  deq(await refused(clerk.token, "POST", "/api/v1/api-keys", more), ["access_denied", lacks]);
  const guess = { current_password: "a guess", new_password: "another password" };
  const guessed = { endpoint: "POST /api/account/password" };
  deq(
    await refused(clerk.token, "POST", "/api/account/password", guess),
    ["access_denied", guessed],
  );
  const blocked = ["GET", `/api/exec/${agent.id}?command=rm+-rf+/`] as const;
  deq(await refused(clerk.token, ...blocked), ["command_denied", guessed]);
  deq(await refused(key, ...blocked), ["command_denied", "api_key_used", guessed]);
});

Deno.test("access: refusing an anonymous caller writes nothing", async () => {
  await using world = await World.open({ settings: { signup: "invite" } });
  await world.signUp();
  const rows = async () => {
    await world.settle();
    return (await rawRows(world.kv)).map(({ key }) => key.join("/"));
  };
  const before = await rows();
  const body = { email: "a@example.com", password: "password 1", organization: "Other" };
  eq((await world.call("POST", "/api/v1/signup", { body })).status, 403);
  deq(await rows(), before);
});

Deno.test("access: a route closed to the test space answers 403 there, recorded, and changes nothing", async () => {
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
    if (route.ignoresUnknownQuery) continue;
    const unchecked = `${path}${path.includes("?") ? "&" : "?"}surprise=1`;
    const live = await world.call(route.method, unchecked, { as: account.token });
    eq(live.status, 400, `${route.id} answered ${live.text}`);
  }
  deq(await stored(world), before);
  const trail = await world.call("GET", "/api/audit?event_type=access_denied&limit=200", {
    as: account.token,
    headers: { "x-relay-space": "test" },
  });
  eq(trail.body.events.length, 2 * closed.length);
  const { paths } = openapi(routes, "1.0.0");
  for (const { path, method } of closed) {
    ok(paths[path]![method.toLowerCase()]!.description.includes("Not available in the test space"));
  }
});

Deno.test("access: another organization's resource gets byte for byte the 404 of a missing one", async () => {
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
  const json = { ...OWN_PAGE, "content-type": "application/json" };
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
      [415, "a=b", { ...json, "content-type": "application/x-www-form-urlencoded" }],
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
