import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { z } from "zod";
import { SCOPE_LIST } from "../../core/identity/scopes.ts";
import { serveMcp } from "../../mcp/endpoint.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes } from "../../routes/index.ts";
import { eventsOf, linkAgent } from "../support/linked_agent.ts";
import { mulberry32 } from "../support/random.ts";
import { World } from "../support/world.ts";
import { type Json, readReply, requestOf, rpc, tool, toolError } from "./client.ts";

const list = async (world: World, as?: string): Promise<Json[]> =>
  (await rpc(world, "tools/list", {}, { as })).body.result.tools;
const names = async (world: World, as?: string) => (await list(world, as)).map(({ name }) => name);

Deno.test("tools: are the routes with a `tool` entry and the extra tools", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const listed = await names(world, token);
  eq(listed.length, routes.filter(({ tool }) => tool).length + 2);
  const asked = [
    "run_command",
    "list_agents",
    "request_approval",
    "approve_command",
    "reject_command",
    "tail_events",
  ];
  deq(asked.filter((name) => !listed.includes(name)), []);
  deq(listed, [...listed].sort());
});

Deno.test("tools: declare whether they read or destroy", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  for (const { name, annotations, inputSchema, description } of await list(world, token)) {
    ok(description.length > 0 && inputSchema.type === "object", name);
    // Of two ids a model would have to guess whose the one without a name is.
    const { id, ...others } = inputSchema.properties;
    const several = id !== undefined && Object.keys(others).some((other) => other.endsWith("_id"));
    ok(!several || id.description !== "An opaque id.", name);
    const { timeout } = inputSchema.properties;
    ok(timeout === undefined || timeout.description?.startsWith("Seconds"), name);
    ok(!(annotations.readOnlyHint && annotations.destructiveHint), name);
  }
  const hints = Object.fromEntries(
    (await list(world, token)).map(({ name, annotations }) => [name, annotations]),
  );
  eq(hints.run_command.destructiveHint, true);
  eq(hints.list_agents.readOnlyHint, true);
});

/** Arguments that satisfy a tool's schema as far as names go; its refusals are then its rule's. */
function argumentsFor({ inputSchema }: Json): Json {
  const required: string[] = inputSchema.required ?? [];
  return Object.fromEntries(required.map((name) => [name, "x_missing"]));
}

Deno.test("tools: every argument has a description", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const silent = (await list(world, as)).flatMap(({ name, inputSchema }) =>
    Object.entries<Json>(inputSchema.properties)
      .filter(([, { description }]) => description === undefined)
      .map(([argument]) => `${name}: ${argument}`)
  );
  deq(silent, []);
});

Deno.test("tools: the list holds exactly what the caller may call, for any rights", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const all = await list(world, owner.token);
  const seed = 20260728;
  console.log(`seed ${seed}`);
  const unit = mulberry32(seed);
  const sets = [
    null,
    [],
    [...SCOPE_LIST],
    ...SCOPE_LIST.map((scope) => [scope]),
    ...Array.from({ length: 20 }, () => SCOPE_LIST.filter(() => unit() < 0.4)),
  ];
  let refused = 0;
  for (const scopes of sets) {
    const as = scopes === null
      ? undefined
      : scopes.length === 0
      ? (await world.join(owner, [])).token
      : (await world.key(owner, scopes)).value;
    const listed = new Set(await names(world, as));
    for (const described of all) {
      const reply = await tool(world, described.name, argumentsFor(described), { as });
      const callable = reply.status === 200 && reply.body.result !== undefined;
      eq(callable, listed.has(described.name), `${described.name} with ${scopes} ${seed}`);
      if (callable) continue;
      refused++;
      eq(reply.status, as === undefined ? 401 : 403);
      ok(reply.headers.get("www-authenticate")?.startsWith("Bearer "));
    }
  }
  ok(refused > 100, "the property was put to the test");
});

Deno.test("tools: live-only tools are neither listed nor callable in the test space", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const closed = routes.map((route) =>
    route.id === "agents.list" ? { ...route, liveOnly: true as const } : route
  );
  const { services } = serveMcp(world.app, closed);
  const serve = mount(world.app, [], [], services);
  const send = async (as: string, method: string, params: Json = {}) =>
    await readReply(await serve(requestOf(method, params, { as })));
  const keys = [(await world.key(owner, ["agents:read"])).value];
  keys.push((await world.key(owner, ["agents:read"], { type: "test" })).value);
  for (const [n, as] of [...keys, ...keys].entries()) {
    const live = n % 2 === 0;
    const listed = (await send(as, "tools/list")).body.result.tools as Json[];
    eq(listed.some(({ name }) => name === "list_agents"), live);
    const reply = await send(as, "tools/call", { name: "list_agents", arguments: {} });
    deq([reply.status, reply.body.error?.data.code], live ? [200, undefined] : [403, "FORBIDDEN"]);
  }
});

Deno.test("tools: an anonymous caller has discovery, the list and public tools", async () => {
  await using world = await World.open();
  deq(await names(world), ["get_health"]);
  for (const method of ["server/discover", "ping"]) {
    eq((await rpc(world, method)).status, 200, method);
  }
  const others = ["resources/list", "resources/read", "prompts/list", "prompts/get", "tasks/get"];
  for (const method of others) {
    const { status, headers, body } = await rpc(world, method, { uri: "relay://agents" });
    deq([status, body.error.data.code], [401, "MISSING_CREDENTIALS"], method);
    ok(headers.get("www-authenticate")?.includes("resource_metadata="), method);
  }
});

Deno.test("tools: an invalid credential gets 401 everywhere, also where none is needed", async () => {
  await using world = await World.open();
  for (const as of ["nonsense", "svc_live_typo"]) {
    const { status, headers } = await rpc(world, "tools/list", {}, { as });
    eq(status, 401);
    ok(headers.get("www-authenticate")?.includes('error="invalid_token"'));
  }
});

Deno.test("tools: a missing right gets 403 with every right that would do, recorded", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["catalog:read"]);
  const { status, headers, body } = await tool(world, "tail_events", {}, { as });
  deq([status, body.error.data.code], [403, "INSUFFICIENT_SCOPES"]);
  const challenge = headers.get("www-authenticate")!;
  ok(challenge.includes('error="insufficient_scope"'), challenge);
  ok(challenge.includes('scope="system:read audit:read"'), challenge);
  deq((await world.trail(owner)).slice(-2), ["access_denied", "api_key_used"]);
});

Deno.test("tools: answers conform to the schema that the list shows", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const as = owner.token;
  const run = { agent_id: agent.id, command: "uptime" };
  const ran = (await tool(world, "run_command", run, { as })).body.result.structuredContent;
  const calls: [string, Json][] = [
    ["get_health", {}],
    ["list_agents", { limit: 1 }],
    ["get_agent", { id: agent.id }],
    ["run_command", run],
    ["get_command", { id: agent.id, command_id: ran.command_id }],
    ["list_approvals", {}],
    ["query_audit_log", {}],
    ["tail_events", {}],
    ["get_account", {}],
    ["restart_agent", { id: agent.id }],
  ];
  const described = new Map((await list(world, as)).map((one) => [one.name, one]));
  for (const [name, args] of calls) {
    const { result } = (await tool(world, name, args, { as })).body;
    ok(!result.isError, `${name} ${JSON.stringify(result)}`);
    const { inputSchema, outputSchema } = described.get(name)!;
    const said = z.fromJSONSchema(outputSchema).safeParse(result.structuredContent);
    ok(said.success, `${name} ${said.error?.message}`);
    deq(JSON.parse(result.content[0].text), result.structuredContent);
    ok(z.fromJSONSchema(inputSchema).safeParse(args).success, name);
  }
});

Deno.test("tools: a route's refusal is a result with the reason and the path of the fault", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const cases: [string, Json, string, string?][] = [
    ["get_agent", { id: "agt_missing" }, "AGENT_NOT_FOUND"],
    ["get_agent", {}, "VALIDATION_FAILED", "arguments.id"],
    ["get_agent", { id: "agt_x", surprise: 1 }, "VALIDATION_FAILED", "arguments"],
    ["get_agent", { id: { a: 1 } }, "VALIDATION_FAILED", "arguments.id"],
    ["get_agent", { id: null }, "VALIDATION_FAILED", "arguments.id"],
    ["list_agents", { limit: 0 }, "VALIDATION_FAILED", "arguments.limit"],
    ["list_agents", { limit: [5] }, "VALIDATION_FAILED", "arguments.limit"],
    ["request_approval", { agent_id: "x", command: 7 }, "VALIDATION_FAILED", "arguments.command"],
    ["tail_events", { cursor: -1 }, "VALIDATION_FAILED", "arguments.cursor"],
    ["query_audit_log", { cursor: "nonsense" }, "VALIDATION_FAILED", "arguments.cursor"],
  ];
  for (const [name, args, code, path] of cases) {
    const reply = await tool(world, name, args, { as });
    deq([reply.status, reply.body.result.isError], [200, true], name);
    const error = toolError(reply);
    eq(error.code, code, `${name} ${JSON.stringify(args)}`);
    if (path !== undefined) {
      eq(error.details.issues[0].path, path, `${name} ${JSON.stringify(args)}`);
    }
    deq(JSON.parse(reply.body.result.content[0].text).error, error);
    ok(!/\b(params|query|body)\b/.test(error.message), error.message);
    eq(error.details.request_id, reply.headers.get("x-request-id"));
  }
  deq(world.logged, []);
});

Deno.test("tools: an unknown argument lists the valid ones, before other checks", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const reply = await tool(world, "run_command", { agent: "web-1", command: "ls" }, { as });
  const { code, message } = toolError(reply);
  eq(code, "VALIDATION_FAILED");
  eq(message, 'arguments: there is no "agent"; known here: agent_id, command, timeout, alert_id');
});

Deno.test("tools: another organization's id gets byte for byte the answer of a missing one", async () => {
  await using world = await World.open();
  const { agent } = await linkAgent(world);
  const { token: as } = await world.signUp();
  const said = async (id: string) => {
    const error = toolError(await tool(world, "get_agent", { id }, { as }));
    delete error.details.request_id;
    return error;
  };
  deq(await said(agent.id), await said("agt_missing"));
});

Deno.test("tools: each call by a key is recorded with its tool, and changes with their events", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const before = (await world.trail(owner)).length;
  await tool(world, "list_agents", {}, { as: key.value });
  await rpc(world, "tools/list", {}, { as: key.value });
  await tool(world, "delete_agent", { id: agent.id }, { as: key.value });
  const uses = (await eventsOf(world, owner, key.id))
    .filter(({ event_type }) => event_type === "api_key_used")
    .map(({ details }) => details.endpoint);
  deq(uses.slice(-3), ["POST /mcp#list_agents", "POST /mcp#tools/list", "POST /mcp#delete_agent"]);
  ok((await world.trail(owner)).slice(before).includes("agent_deleted"));
});

Deno.test("tools: a call with refused arguments is recorded as a use of the key", async () => {
  await using world = await World.open();
  const { owner, key } = await linkAgent(world);
  for (const args of [{ id: { a: 1 } }, { id: "agt_x", surprise: 1 }, { id: null }]) {
    await tool(world, "get_agent", args, { as: key.value });
  }
  const uses = await eventsOf(world, owner, key.id);
  const refused = uses.filter(({ details }) => details.endpoint === "POST /mcp#get_agent");
  deq(refused.map(({ details }) => details.status), [400, 400, 400]);
});

Deno.test("tools: the plan's limit binds calls and says when to retry", async () => {
  await using world = await World.open({
    config: { plans: { enterprise: { requests_per_minute: 3 } } },
  });
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["agents:read"]);
  const statuses: number[] = [];
  for (let n = 0; n < 4; n++) statuses.push((await tool(world, "list_agents", {}, { as })).status);
  deq(statuses, [200, 200, 429, 429]);
  const refused = await tool(world, "list_agents", {}, { as });
  ok(Number(refused.headers.get("retry-after")) > 0);
});

Deno.test("tools: tail_events misses no event and repeats none", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["audit:read", "audit:write"]);
  const tail = async (args: Json) =>
    (await tool(world, "tail_events", args, { as })).body.result.structuredContent;
  let { cursor } = await tail({ limit: 1 });
  const from = cursor;
  for (let n = 0; n < 5; n++) {
    const body = { event_type: "custom.event", details: { n } };
    await world.call("POST", "/api/audit/event", { as, body });
  }
  const seen: number[] = [];
  for (let page = await tail({ cursor, limit: 2 }); seen.length < 10;) {
    seen.push(...page.events.map(({ seq }: Json) => seq));
    cursor = page.cursor;
    page = await tail({ cursor, limit: 2 });
  }
  deq(seen, seen.map((_, at) => from + 1 + at));
  const mine = await tail({ cursor: from, event_type: "custom.event,deploy", limit: 200 });
  deq(mine.events.map(({ details }: Json) => details.n), [0, 1, 2, 3, 4]);
});

Deno.test("tools: reading events is recorded, and polling does not create events", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const tail = async (args: Json) =>
    (await tool(world, "tail_events", args, { as: owner.token })).body.result.structuredContent;
  let { cursor } = await tail({ limit: 200, event_type: "user_created" });
  const looks = async () => {
    const log = await world.app.log.read({ org: owner.org, space: "live" }, 0, 1_000);
    return log.filter(({ type }) => type === "audit_read").map(({ json }) =>
      JSON.parse(json).details
    );
  };
  await world.settle();
  const first = await looks();
  deq(first.map(({ filter }: Json) => filter), first.map(() => ({ event_type: "user_created" })));
  eq(first.length, 1);
  for (let n = 0; n < 5; n++) ({ cursor } = await tail({ cursor }));
  await world.settle();
  deq(await looks(), first);
});
