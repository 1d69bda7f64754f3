import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { mcpSessions } from "../../kv/records/mcp_session.ts";
import { shared } from "../support/kv.ts";
import { rawRows } from "../support/raw_rows.ts";
import { type Account, World } from "../support/world.ts";
import { type Json, Reader, readReply, type Reply, rpc, tool } from "./client.ts";

const VERSION = "2025-11-25";
const MINUTE_MS = 60_000;
const CLIENT = { name: "a client", version: "1.2.3" };

const open = (world: World, as?: string, version = VERSION): Promise<Reply> =>
  rpc(world, "initialize", { protocolVersion: version, capabilities: {}, clientInfo: CLIENT }, {
    as,
  });

async function sessionOf(world: World, as: string): Promise<string> {
  return (await open(world, as)).headers.get("mcp-session-id")!;
}

const within = (session: string) => ({
  "mcp-session-id": session,
  "mcp-protocol-version": VERSION,
});

const get = (world: World, as: string, session: string, method = "GET") =>
  world.send(
    new Request("http://localhost/mcp", {
      method,
      headers: {
        ...within(session),
        accept: "text/event-stream",
        authorization: `Bearer ${as}`,
      },
    }),
  );

async function sessionEvents(world: World, { org }: Account): Promise<Json[]> {
  await world.settle();
  const rows = await world.app.log.read({ org, space: "live" }, 0, 10_000);
  return rows.filter(({ type }) => type.startsWith("session_")).map(({ json }) => JSON.parse(json));
}

/** A key outlives the hour of a JWT. */
const keyOf = async (world: World, owner: Account) =>
  (await world.key(owner, ["agents:read", "agents:write", "system:read", "audit:read"])).value;

Deno.test("sessions: initialize agrees on a revision and opens a session", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (
    const [asked, agreed] of [
      ["2025-11-25", "2025-11-25"],
      ["2025-06-18", "2025-06-18"],
      ["2025-03-26", "2025-11-25"], // it has batches, which are not taken
      ["2024-11-05", "2025-11-25"],
      ["2026-07-28", "2025-11-25"],
    ] as const
  ) {
    const { body, headers } = await open(world, owner.token, asked);
    eq(body.result.protocolVersion, agreed);
    ok(/^[\x21-\x7e]{20,}$/.test(headers.get("mcp-session-id") ?? ""));
    ok(!("resultType" in body.result), "not known to that revision");
  }
});

Deno.test("sessions: an anonymous client may initialize without a stored session", async () => {
  await using world = await World.open();
  const { status, headers, body } = await open(world);
  deq([status, headers.get("mcp-session-id")], [200, null]);
  eq(body.result.serverInfo.name, "relay");
  const listed = await rpc(world, "tools/list", {}, {
    headers: { "mcp-protocol-version": VERSION },
  });
  deq(listed.body.result.tools.map(({ name }: Json) => name), ["get_health"]);
});

Deno.test("sessions: opening and ending are events with the number of calls", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const id = await sessionOf(world, as);
  for (let n = 0; n < 3; n++) await tool(world, "list_agents", {}, { as, headers: within(id) });
  await world.advance(5_000);
  const ended = await get(world, as, id, "DELETE");
  deq([ended.status, await ended.text()], [204, ""]);
  const [started, closed, ...more] = await sessionEvents(world, owner);
  const session = { session_id: id, client: CLIENT, user: owner.userId };
  deq(started.details, { ...session, protocol_version: VERSION });
  deq([closed.event_type, closed.details], ["session_closed", {
    ...session,
    duration_ms: 5_000,
    calls: 3,
  }]);
  deq(more, []);
  const after = await tool(world, "list_agents", {}, { as, headers: within(id) });
  deq([after.status, after.body.error.data.code], [404, "NOT_FOUND"]);
  eq((await get(world, as, id, "DELETE")).status, 404);
});

Deno.test("sessions: a clock that is set back gives a duration of 0, not less", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const id = await sessionOf(world, as);
  world.clock.nowMs -= MINUTE_MS;
  eq((await get(world, as, id, "DELETE")).status, 204);
  const closed = (await sessionEvents(world, owner)).at(-1);
  deq([closed.event_type, closed.details.duration_ms], ["session_closed", 0]);
});

Deno.test("sessions: half an hour without a call ends one, unless a call comes in between", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = await keyOf(world, owner);
  const id = await sessionOf(world, as);
  await world.advance(29 * MINUTE_MS);
  eq((await rpc(world, "ping", {}, { as, headers: within(id) })).status, 200);
  await world.advance(29 * MINUTE_MS);
  eq((await rpc(world, "ping", {}, { as, headers: within(id) })).status, 200);
  await world.advance(30 * MINUTE_MS);
  eq((await rpc(world, "ping", {}, { as, headers: within(id) })).status, 404);
  const last = (await sessionEvents(world, owner)).at(-1);
  eq(last.event_type, "session_timeout");
  deq([last.details.idle_seconds, last.actor], [1800, "relay"]);
});

Deno.test("sessions: another credential gets the 404 of an unknown session", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const id = await sessionOf(world, owner.token);
  const stranger = await world.signUp();
  const colleague = await world.join(owner, ["operator"]);
  for (const as of [stranger.token, colleague.token, await keyOf(world, owner)]) {
    const theirs = await rpc(world, "tools/list", {}, { as, headers: within(id) });
    const missing = await rpc(world, "tools/list", {}, { as, headers: within("mcs_missing") });
    deq([theirs.status, missing.status], [404, 404]);
    eq(theirs.body.error.message, missing.body.error.message);
    eq((await get(world, as, id, "DELETE")).status, 404);
  }
  eq((await rpc(world, "ping", {}, { as: owner.token, headers: within(id) })).status, 200);
});

Deno.test("sessions: a caller may have 50, and the oldest ends", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = owner.token;
  const first = await sessionOf(world, as);
  for (let n = 0; n < 3; n++) await tool(world, "list_agents", {}, { as, headers: within(first) });
  await world.advance(1);
  for (let n = 0; n < 50; n++) await sessionOf(world, owner.token);
  eq((await rpc(world, "ping", {}, { as: owner.token, headers: within(first) })).status, 404);
  const ends = (await sessionEvents(world, owner)).filter(({ event_type }) =>
    event_type === "session_closed"
  );
  deq(ends.map(({ details }) => [details.session_id, details.calls]), [[first, 3]]);
});

Deno.test("sessions: the limit of 50 also holds for simultaneous openings", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await Promise.all(Array.from({ length: 100 }, () => sessionOf(world, owner.token)));
  const own = { index: "actor", prefix: [owner.userId], limit: 1_000 };
  const tenant = { org: owner.org, space: "live" } as const;
  eq((await world.app.store.list(mcpSessions, tenant, own)).items.length, 50);
});

Deno.test("sessions: the stream carries the subscriptions and ends with its session", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = await keyOf(world, owner);
  const id = await sessionOf(world, as);
  await world.settle();
  const headers = within(id);
  const subscribed = await rpc(world, "resources/subscribe", { uri: "relay://audit" }, {
    as,
    headers,
  });
  deq(subscribed.body.result, {});
  const stream = new Reader(await get(world, as, id));
  const body = { event_type: "custom.event" };
  await world.call("POST", "/api/audit/event", { as: owner.token, body });
  await world.settle();
  const [told] = await stream.until(1);
  deq([told.method, told.params.uri], ["notifications/resources/updated", "relay://audit"]);
  await (await get(world, as, id, "DELETE")).body?.cancel();
  await world.advance(1_000);
  await stream.until(Infinity);
  ok(stream.ended);
});

Deno.test("sessions: the newest of several streams gets notifications, then the one before it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = await keyOf(world, owner);
  const id = await sessionOf(world, as);
  await rpc(world, "resources/subscribe", { uri: "relay://audit" }, { as, headers: within(id) });
  await world.settle();
  const older = new Reader(await get(world, as, id));
  const newer = new Reader(await get(world, as, id));
  const happen = async () => {
    const body = { event_type: "custom.event" };
    await world.call("POST", "/api/audit/event", { as: owner.token, body });
    await world.settle();
  };
  await happen();
  eq((await newer.until(1)).length, 1);
  await newer.drop();
  await happen();
  await older.until(1);
  world.mcp.close();
  eq((await older.until(Infinity)).length, 1, "what the other one was told did not come here");
});

Deno.test("sessions: the count of calls is forgotten however a session ends", async () => {
  await using world = await World.open();
  const as = await keyOf(world, await world.signUp());
  const opened = async () => {
    const id = await sessionOf(world, as);
    await tool(world, "list_agents", {}, { as, headers: within(id) });
    eq(world.app.mcpSessions.uncounted(id), 1);
    return id;
  };
  const deleted = await opened();
  await get(world, as, deleted, "DELETE");
  eq(world.app.mcpSessions.uncounted(deleted), undefined);
  const displaced = await opened();
  await world.advance(1);
  for (let n = 0; n < 50; n++) await sessionOf(world, as);
  eq(world.app.mcpSessions.uncounted(displaced), undefined);
  const timedOut = await opened();
  await world.advance(31 * MINUTE_MS);
  eq(world.app.mcpSessions.uncounted(timedOut), undefined);
});

Deno.test("sessions: one that ended on another instance is forgotten within two idle times", async () => {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false, seed: 1 });
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: one.clock });
  const as = await keyOf(one, await one.signUp());
  const id = await sessionOf(one, as);
  await tool(one, "list_agents", {}, { as, headers: within(id) });
  eq((await get(two, as, id, "DELETE")).status, 204);
  await one.advance(61 * MINUTE_MS);
  eq(one.app.mcpSessions.uncounted(id), undefined);
  for (const world of [two, one]) await world[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("sessions: every instance sends a session's subscriptions, also one that started later", async () => {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false, seed: 1 });
  const owner = await one.signUp();
  const as = await keyOf(one, owner);
  const id = await sessionOf(one, as);
  const wish = (method: string, uri: string) =>
    rpc(one, method, { uri }, { as, headers: within(id) });
  await wish("resources/subscribe", "relay://audit");
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: one.clock });
  await two.advance(5_000); // by then the instances know of each other
  const stream = new Reader(await get(two, as, id));
  const happen = async () => {
    await one.call("POST", "/api/audit/event", {
      as: owner.token,
      body: { event_type: "custom.event" },
    });
    await one.settle();
  };
  await happen();
  await stream.until(1);
  await wish("resources/unsubscribe", "relay://audit");
  await wish("resources/subscribe", "relay://events");
  await one.settle();
  while ((await rawRows(kv, { org: "~", space: "inbox" })).length > 0) await two.settle();
  await happen();
  await stream.until(2);
  two.mcp.close();
  const told = await stream.until(Infinity);
  deq(told.map(({ params }) => params.uri), ["relay://audit", "relay://events"]);
  for (const world of [two, one]) await world[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("sessions: an address without a resource cannot be subscribed to", async () => {
  await using world = await World.open();
  const as = await keyOf(world, await world.signUp());
  const headers = within(await sessionOf(world, as));
  for (const id of ["x".repeat(129), "x".repeat(500_000), "a/b", "\u00e9", " "]) {
    const uri = `relay://agents/${id}`;
    const { body } = await rpc(world, "resources/subscribe", { uri }, { as, headers });
    eq(body.error.code, -32002);
  }
});

Deno.test("sessions: a stream needs a session and an Accept of events", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const id = await sessionOf(world, token);
  const status = async (headers: Record<string, string>) => {
    const all = { authorization: `Bearer ${token}`, ...headers };
    const response = await world.send(new Request("http://localhost/mcp", { headers: all }));
    await response.body?.cancel();
    return response.status;
  };
  eq(await status({ accept: "text/event-stream" }), 400);
  eq(await status({ accept: "text/event-stream", "mcp-session-id": "mcs_missing" }), 404);
  const named = { "mcp-session-id": id };
  for (const accept of ["application/json", "text/event-stream;q=0", "text/event-streams"]) {
    eq(await status({ accept, ...named }), 406, accept);
  }
  eq(await status({ accept: "text/*", ...named }), 200);
});

Deno.test("sessions: the log level is the client's, and unreadable resources are not found", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const as = (await world.key(owner, ["catalog:read"])).value;
  const headers = within(await sessionOf(world, as));
  const send = (method: string, params: Json) => rpc(world, method, params, { as, headers });
  eq((await send("logging/setLevel", { level: "loud" })).body.error.code, -32602);
  deq((await send("logging/setLevel", { level: "info" })).body.result, {});
  const refused = await send("resources/subscribe", { uri: "relay://agents" });
  deq(refused.body.error.code, -32002);
  deq((await send("resources/read", { uri: "relay://nowhere" })).body.error.code, -32002);
});

Deno.test("sessions: survive a restart of the relay", async () => {
  const kv = await Deno.openKv(":memory:");
  const keep = shared(kv);
  let id = "", as = "";
  {
    await using world = await World.open({ kv: keep });
    as = await keyOf(world, await world.signUp());
    id = await sessionOf(world, as);
  }
  {
    await using world = await World.open({ kv: keep, seed: 2 });
    eq((await rpc(world, "ping", {}, { as, headers: within(id) })).status, 200);
  }
  kv.close();
});

Deno.test("sessions: an unexpected reply is refused", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const headers = { ...within(await sessionOf(world, token)), authorization: `Bearer ${token}` };
  const body = JSON.stringify({ jsonrpc: "2.0", id: "nobody-asked", result: {} });
  const request = new Request("http://localhost/mcp", { method: "POST", headers, body });
  request.headers.set("content-type", "application/json");
  const { status, body: said } = await readReply(await world.send(request));
  deq([status, said.error.code], [400, -32600]);
});
