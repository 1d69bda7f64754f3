import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { AGENT_RIGHTS, linkAgent, runsOf } from "../support/linked_agent.ts";
import { holdBody } from "../support/held.ts";
import { World } from "../support/world.ts";
import { type Json, readReply, requestOf, rpc, tool } from "./client.ts";

const CONSOLE = "https://console.example";

Deno.test("mcp: the interface's plain request is served on both paths, whatever Accept says", async () => {
  await using world = await World.open();
  for (const accept of [undefined, "*/*", "text/html", "application/json"]) {
    const { status, headers, body } = await rpc(world, "tools/list", {}, {
      ...(accept && { accept }),
    });
    deq([status, headers.get("content-type")], [200, "application/json"]);
    ok(body.result.tools.some(({ name }: Json) => name === "get_health"));
  }
  const called = await tool(world, "get_health", {}, { path: "/mcp/stream" });
  eq(called.headers.get("content-type"), "text/event-stream");
  deq(called.body.result.structuredContent, { status: "ok" });
});

Deno.test("mcp: a client that accepts events only gets events; one that accepts both gets them for calls with notifications", async () => {
  await using world = await World.open();
  const type = async (accept: string, meta?: Json) =>
    (await tool(world, "get_health", {}, { accept, meta })).headers.get("content-type");
  eq(await type("text/event-stream"), "text/event-stream");
  eq(await type("application/json, text/event-stream"), "application/json");
  const both = "application/json, text/event-stream";
  eq(await type(both, { progressToken: 1 }), "text/event-stream");
});

Deno.test("mcp: every response has the common headers", async () => {
  await using world = await World.open();
  for (const method of ["tools/list", "nope", "resources/list"]) {
    for (const path of ["/mcp", "/mcp/stream"]) {
      const { headers } = await rpc(world, method, {}, { path });
      for (const name of ["x-request-id", "x-ratelimit-limit", "x-ratelimit-reset"]) {
        ok(headers.get(name), `${method} ${path} lacks ${name}`);
      }
    }
  }
});

const CURRENT = "2026-07-28";
const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";

/** Bodies that are refused, with the status and code that the specification has for them. */
const BAD_BODIES: readonly [string, number, number, unknown?][] = [
  ["", 400, -32700],
  ["{", 400, -32700],
  ["\u0000", 400, -32700],
  ["null", 400, -32600],
  ["7", 400, -32600],
  ["[]", 400, -32600],
  ['[{"jsonrpc":"2.0","id":1,"method":"ping"}]', 400, -32600],
  ["{}", 400, -32600],
  ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600, 1],
  ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
  ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
  ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
  [`{"jsonrpc":"2.0","id":"${"x".repeat(257)}","method":"ping"}`, 400, -32600],
  ['{"jsonrpc":"2.0","id":2,"method":7}', 400, -32600, 2],
  ['{"jsonrpc":"2.0","id":3,"method":"tools/list","params":[]}', 400, -32602, 3],
  ['{"jsonrpc":"2.0","id":4,"method":"tools/list","params":{"cursor":"x"}}', 200, -32602, 4],
  ['{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{}}', 200, -32602, 5],
  ['{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"nope"}}', 200, -32602, 6],
  [
    '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"get_health","arguments":[]}}',
    200,
    -32602,
    7,
  ],
  ['{"jsonrpc":"2.0","id":8,"method":"constructor"}', 404, -32601, 8],
  ['{"jsonrpc":"2.0","id":"a","method":"unknown/method"}', 404, -32601, "a"],
  ['{"jsonrpc":"2.0","id":9,"result":{}}', 400, -32600],
  [`${"[".repeat(16_000)}`, 400, -32700],
  [
    '{"jsonrpc":"2.0","id":10,"method":"tools/call","params":{"name":"get_health","requestState":' +
    `${"[".repeat(8_000)}${"]".repeat(8_000)}}}`,
    200,
    -32602,
    10,
  ],
];

Deno.test("mcp: malformed messages get the specified error and change nothing", async () => {
  await using world = await World.open();
  for (const [body, status, code, id = null] of BAD_BODIES) {
    const headers = { "content-type": "application/json" };
    const sent = new Request("http://localhost/mcp", { method: "POST", headers, body });
    const reply = await readReply(await world.send(sent));
    const said = [reply.status, reply.body.error.code, reply.body.id];
    deq(said, [status, code, id], body.slice(0, 80));
    const { data } = reply.body.error;
    eq(data.code, code === -32601 ? "NOT_FOUND" : "VALIDATION_FAILED");
    eq(data.details.request_id, reply.headers.get("x-request-id"));
    ok(!/\.ts\b/.test(JSON.stringify(reply.body)), "no stack");
  }
  deq(world.logged, []);
});

Deno.test("mcp: a body over 16 KiB needs a credential", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const ping = (size: number) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping", params: { x: "x".repeat(size) } });
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  for (const path of ["/mcp", "/mcp/stream"]) {
    const send = async (body: string, as?: string) => {
      const headers = {
        "content-type": "application/json",
        ...(as !== undefined && { authorization: `Bearer ${as}` }),
      };
      const url = `http://localhost${path}`;
      const reply = await readReply(
        await world.send(new Request(url, { method: "POST", headers, body })),
      );
      return [reply.status, reply.body.error?.code];
    };
    deq(await send(ping(16_000)), [200, undefined]);
    deq(await send(ping(17_000)), [413, "PAYLOAD_TOO_LARGE"]);
    deq(await send(ping(17_000), "no token"), [401, "INVALID_TOKEN"]);
    deq(await send(ping(900_000), token), [200, undefined]);
    deq(await send(ping(1_100_000), token), [413, "PAYLOAD_TOO_LARGE"]);
    deq(await send(deep, token), [400, -32600]);
  }
});

Deno.test("mcp: a batch is refused whole with the documented error", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const call = { name: "policies_delete", arguments: { id: "pol_1" } };
  const batch = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", id: 2, method: "tools/call", params: call },
  ];
  const before = await world.trail(owner);
  for (const path of ["/mcp", "/mcp/stream"]) {
    for (const version of [undefined, "2025-03-26"]) {
      const headers = {
        "content-type": "application/json",
        authorization: `Bearer ${owner.token}`,
        ...(version !== undefined && { "mcp-protocol-version": version }),
      };
      const body = JSON.stringify(batch);
      const url = `http://localhost${path}`;
      const reply = await readReply(
        await world.send(new Request(url, { method: "POST", headers, body })),
      );
      const { code, data } = reply.body.error;
      deq([reply.status, reply.body.id, code, data.code], [400, null, -32600, "VALIDATION_FAILED"]);
    }
  }
  deq(await world.trail(owner), before);
});

Deno.test("mcp: faults before a message is read have the interface's error object, later ones JSON-RPC's with the id", async () => {
  await using world = await World.open();
  const early = [
    await rpc(world, "tools/list", {}, { as: "svc_live_none" }),
    await rpc(world, "tools/list", {}, { path: "/mcp?verbose=1" }),
    await rpc(world, "tools/list", {}, { headers: { origin: CONSOLE } }),
    await rpc(world, "tools/list", {}, { headers: { "content-type": "text/plain" } }),
  ];
  deq(early.map(({ status, body }) => [status, body.error.code]), [
    [401, "INVALID_API_KEY"],
    [400, "VALIDATION_FAILED"],
    [403, "FORBIDDEN"],
    [415, "UNSUPPORTED_MEDIA_TYPE"],
  ]);
  for (const { body } of early) {
    deq([body.jsonrpc, typeof body.error.message], [undefined, "string"]);
  }
  const headers = { "mcp-session-id": "mcs_missing" };
  const id = "seven";
  const later = [
    await rpc(world, "resources/list", {}, { id }),
    await rpc(world, "tools/call", { name: "get_agent" }, { id }),
    await rpc(world, "nothing/here", {}, { id }),
    await rpc(world, "tools/call", {}, { id }),
    await rpc(world, "tools/list", {}, { id, headers }),
  ];
  const codes = later.map(({ body }) => [body.jsonrpc, body.id, body.error.data.code]);
  deq(codes, [
    ["2.0", id, "MISSING_CREDENTIALS"],
    ["2.0", id, "MISSING_CREDENTIALS"],
    ["2.0", id, "NOT_FOUND"],
    ["2.0", id, "VALIDATION_FAILED"],
    ["2.0", id, "NOT_FOUND"],
  ]);
});

Deno.test("mcp: a cursor that no list gave is refused by each list", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  for (const list of ["tools", "resources", "resources/templates", "prompts"]) {
    for (const cursor of ["x", "", 7, null]) {
      const { status, body } = await rpc(world, `${list}/list`, { cursor }, { as });
      deq([status, body.error.code], [200, -32602], `${list} ${cursor}`);
    }
  }
});

Deno.test("mcp: bodies that are too large, of another type, or not text are refused", async () => {
  await using world = await World.open();
  const send = async (body: BodyInit, type = "application/json") => {
    const headers = { "content-type": type };
    const request = new Request("http://localhost/mcp", { method: "POST", headers, body });
    const reply = await readReply(await world.send(request));
    return [reply.status, reply.body.error.code, reply.body.id];
  };
  const contract = undefined; // the error object of the interface has no `id`
  deq(await send(`"${"x".repeat(10 * 1024 * 1024)}"`), [413, "PAYLOAD_TOO_LARGE", contract]);
  const message = '{"jsonrpc":"2.0","id":1,"method":"ping"}';
  deq(await send(message, "text/plain"), [415, "UNSUPPORTED_MEDIA_TYPE", contract]);
  deq(await send(new Uint8Array([0x22, 0xff, 0x22])), [400, -32700, null]);
  deq(world.logged, []);
});

Deno.test("mcp: rights that end while a body is held back do not count", async () => {
  await using world = await World.open();
  const { owner, agent } = await linkAgent(world);
  const key = await world.key(owner, AGENT_RIGHTS);
  const args = { agent_id: agent.id, command: "uptime" };
  const call = requestOf("tools/call", { name: "run_command", arguments: args }, { as: key.value });
  const held = await holdBody(call);
  const answer = world.send(held.request);
  await held.waiting;
  const path = `/api/v1/api-keys/${key.id}/revoke`;
  eq((await world.call("POST", path, { as: owner.token })).status, 200);
  held.release();
  const { status, headers, body } = await readReply(await answer);
  deq([status, body.error.data.code, body.id], [401, "INVALID_API_KEY", 1]);
  eq(body.error.data.details.reason, "revoked");
  ok(headers.get("www-authenticate"));
  await world.settle();
  deq(runsOf(agent), []);
});

Deno.test("mcp: headers of the current revision must match the body", async () => {
  await using world = await World.open();
  const call = { name: "get_health", arguments: {} };
  const send = async (headers: Record<string, string | null>, params: Json = call, meta?: Json) => {
    const request = requestOf("tools/call", params, { style: "modern", meta });
    for (const [name, value] of Object.entries(headers)) {
      if (value === null) request.headers.delete(name);
      else request.headers.set(name, value);
    }
    const { status, body } = await readReply(await world.send(request));
    return [status, body.error?.code ?? 0];
  };
  deq(await send({}), [200, 0]);
  deq(await send({ "mcp-name": "=?base64?Z2V0X2hlYWx0aA==?=" }), [200, 0]);
  deq(await send({ "mcp-session-id": "ignored" }), [200, 0]);
  const mismatch = [400, -32020];
  deq(await send({ "mcp-method": "tools/list" }), mismatch);
  deq(await send({ "mcp-method": "Tools/Call" }), mismatch);
  deq(await send({ "mcp-method": null }), mismatch);
  deq(await send({ "mcp-name": "other" }), mismatch);
  deq(await send({ "mcp-name": null }), mismatch);
  deq(await send({ "mcp-name": "=?base64?aGVhbHRo" }), mismatch);
  deq(await send({ "mcp-name": "=?base64?aGVhbHR!?=" }), mismatch);
  deq(await send({ "mcp-protocol-version": null }), mismatch);
  deq(await send({ "mcp-protocol-version": "2025-11-25" }), mismatch);
  deq(await send({}, call, { [META_VERSION]: "1999-01-01" }), mismatch);
  deq(
    await send({ "mcp-protocol-version": "1999-01-01" }, call, { [META_VERSION]: "1999-01-01" }),
    [
      400,
      -32022,
    ],
  );
  deq(await send({}, call, { [META_VERSION]: 7 }), [400, -32602]);
  deq(await send({}, call, { [META_CAPABILITIES]: null }), [400, -32602]);
  deq(await send({}, call, { [META_CAPABILITIES]: [] }), [400, -32602]);
});

Deno.test("mcp: the refusal of an unknown version lists the served ones", async () => {
  await using world = await World.open();
  const headers = { "mcp-protocol-version": "2031-01-01" };
  const { status, body } = await rpc(world, "tools/list", {}, { headers });
  deq([status, body.error.code], [400, -32022]);
  const { code, details: _, ...data } = body.error.data;
  deq([code, data], ["VALIDATION_FAILED", { supported: [CURRENT], requested: "2031-01-01" }]);
});

Deno.test("mcp: a notification gets 202 without a body", async () => {
  await using world = await World.open();
  const body = '{"jsonrpc":"2.0","method":"notifications/initialized"}';
  const headers = { "content-type": "application/json" };
  const response = await world.send(
    new Request("http://localhost/mcp", { method: "POST", headers, body }),
  );
  deq([response.status, await response.text()], [202, ""]);
});

Deno.test("mcp: a token in the query and other methods are refused", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const { status, body } = await rpc(world, "tools/list", {}, {
    path: `/mcp?access_token=${token}`,
  });
  deq([status, body.error.code], [400, "VALIDATION_FAILED"]);
  for (const method of ["PUT", "PATCH", "HEAD"]) {
    const response = await world.send(new Request("http://localhost/mcp", { method }));
    eq(response.status, 405, method);
    await response.body?.cancel();
  }
  for (const method of ["GET", "DELETE"]) {
    const headers = { "mcp-protocol-version": CURRENT };
    const response = await world.send(new Request("http://localhost/mcp", { method, headers }));
    eq(response.status, 405, method);
    await response.body?.cancel();
  }
});

Deno.test("mcp: pages of other sites are refused, also by DNS rebinding", async () => {
  const cases: [Record<string, unknown>, string, string | null, number][] = [
    [{ local: true }, "http://localhost:9081", null, 200],
    [{ local: true }, "http://127.0.0.1:9081", "http://localhost:9081", 200],
    [{ local: true }, "http://127.0.0.1:9081", "http://localhost:3000", 403],
    [{ local: true }, "http://[::1]:9081", "http://[::1]:9081", 200],
    [{ local: true }, "http://localhost:9081", "https://evil.example", 403],
    [{ local: true }, "http://evil.example:9081", "http://evil.example:9081", 403],
    [{ local: true }, "http://evil.example:9081", null, 403],
    [{ local: true }, "http://localhost.evil.example", null, 403],
    [{ local: false, publicUrl: "https://relay.example" }, "https://relay.example", null, 200],
    [
      { local: false, publicUrl: "https://relay.example" },
      "https://relay.example",
      "https://relay.example",
      200,
    ],
    [
      { local: false, publicUrl: "https://relay.example" },
      "https://relay.example",
      "http://localhost",
      403,
    ],
    [
      { local: false, publicUrl: "https://relay.example" },
      "https://evil.example",
      "https://evil.example",
      403,
    ],
    [{ local: false }, "https://relay.example", "https://relay.example", 200],
    [{ local: false }, "https://relay.example", "https://evil.example", 403],
    [{ local: false }, "https://relay.example", "null", 403],
    [{ local: true }, "http://localhost:9081", CONSOLE, 200],
    [{ local: true }, "http://evil.example:9081", CONSOLE, 403],
    [{ local: false, publicUrl: "https://relay.example" }, "https://relay.example", CONSOLE, 200],
    [{ local: false }, "https://relay.example", `${CONSOLE}.evil.example`, 403],
  ];
  for (const [settings, url, origin, status] of cases) {
    await using world = await World.open({ settings, config: { allowed_origins: [CONSOLE] } });
    const headers = new Headers({ "content-type": "application/json" });
    if (origin !== null) headers.set("origin", origin);
    const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
    const response = await world.send(
      new Request(`${url}/mcp`, { method: "POST", headers, body }),
    );
    eq(response.status, status, `${url} from ${origin}`);
    await response.body?.cancel();
  }
});
