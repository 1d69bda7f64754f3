import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { z } from "zod";
import { extraTools } from "../../mcp/extra_tools.ts";
import { mount } from "../../routes/http/mount.ts";
import { type Route, route } from "../../routes/call/route.ts";
import { IdParams } from "../../routes/schemas/schemas.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { AGENT_RIGHTS, linkAgent } from "../support/linked_agent.ts";
import { World } from "../support/world.ts";

Deno.test("mount: a name comes before a parameter, in whichever order they are declared", async () => {
  await using world = await World.open();
  const said = (id: `x.${string}`, path: `/${string}`): Route =>
    route({
      id,
      method: "GET",
      path,
      summary: id,
      access: { public: "a sample" },
      effect: "read",
      ...(path.includes("{") && { params: IdParams }),
      success: { status: 200, body: z.object({ id: z.string() }) },
      faults: [],
      handle: () => ({ id }),
    });
  const declared = [
    said("x.one", "/x/{id}"),
    said("x.parts", "/x/{id}/parts"),
    said("x.kinds", "/x/kinds"),
    said("x.kind_parts", "/x/kinds/parts"),
    said("x.upper", "/x/Zones"),
  ];
  for (const table of [declared, declared.toReversed()]) {
    const serve = mount(world.app, table, []);
    const answers = await Promise.all(
      ["/x/1", "/x/1/parts", "/x/kinds", "/x/kinds/parts", "/x/Zones"].map(async (path) =>
        (await (await serve(new Request(`http://localhost${path}`))).json()).id
      ),
    );
    deq(answers, ["x.one", "x.parts", "x.kinds", "x.kind_parts", "x.upper"]);
  }
});

Deno.test("mount: the refusal of an unknown name lists the known ones", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  const message = async (method: string, path: string, body?: unknown) => {
    const answer = await world.call(method, path, { as, ...(body !== undefined && { body }) });
    eq(answer.status, 400, answer.text);
    return answer.body.error.message;
  };
  eq(
    await message("GET", "/api/v1/compliance/report?report_id=1"),
    'query: Unrecognized key: "report_id"; known here: id, format',
  );
  eq(
    await message("POST", "/api/v1/compliance/report/generate", {
      type: "soc2",
      period: "24h",
      days: 3,
    }),
    'body: Unrecognized key: "days"; known here: type, period',
  );
  eq(
    await message("GET", "/api/account/info?id=1"),
    'query: Unrecognized key: "id"; known here: none',
  );
});

Deno.test("mount: a path with an upgrade takes GET only, and says so", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  for (const method of ["POST", "HEAD"]) {
    const headers = { upgrade: "websocket" };
    const answer = await world.call(method, "/ws", { as, headers });
    deq([answer.status, answer.headers.get("allow")], [405, "GET"]);
  }
  eq((await world.call("GET", "/ws", { as })).headers.get("upgrade"), "websocket");
});

Deno.test("mount: a 405 lists the methods that the path takes", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  const cases: readonly (readonly [path: string, allow: string])[] = [
    ["/api/v1/agents", "GET, HEAD"],
    ["/api/v1/api-keys", "GET, HEAD, POST"],
    ["/api/exec/agt_x", "GET"],
    ["/api/v1/login", "POST"],
  ];
  for (const [path, allow] of cases) {
    const { status, headers, body } = await world.call("OPTIONS", path, { as });
    deq([status, headers.get("allow")?.split(", ").sort().join(", ")], [405, allow], path);
    deq(body.error.details.allow.join(", "), headers.get("allow"), path);
  }
});

Deno.test("mount: a compressed body gets 415 with what to do, over HTTP and MCP, and changes nothing", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  for (const path of ["/api/v1/api-keys", "/mcp"]) {
    const headers = {
      "host": "localhost",
      "content-encoding": "gzip",
      "content-type": "application/json",
    };
    const answer = await world.raw("POST", path, { as, headers, body: "{}" });
    const text = await answer.text();
    eq(answer.status, 415, path);
    ok(text.includes("Send the body without Content-Encoding; gzip is not supported."), text);
  }
  const identity = { "content-encoding": "identity" };
  const body = { name: "k", scopes: ["agents:read"] };
  eq((await world.call("POST", "/api/v1/api-keys", { as, headers: identity, body })).status, 201);
});

Deno.test("mount: a 415 repeats a bounded part of the caller's header", async () => {
  await using world = await World.open();
  const long = "x".repeat(10_000);
  for (const path of ["/api/v1/login", "/mcp"]) {
    for (const name of ["content-type", "content-encoding"]) {
      const headers = { "host": "localhost", "content-type": "application/json", [name]: long };
      const answer = await world.raw("POST", path, { headers, body: "{}" });
      const text = await answer.text();
      deq(
        [answer.status, text.includes("x…"), text.length < 1_000],
        [415, true, true],
        path + name,
      );
    }
  }
});

Deno.test("mount: a caller with the right outside the host organization learns the reason", async () => {
  await using world = await World.open();
  await world.signUp(); // the host
  const { token } = await world.signUp();
  const { status, body } = await world.call("GET", "/metrics", { as: token });
  deq([status, body.error.details.host], [403, true]);
  eq(body.error.message, "Only the organization that runs this installation may do this.");
});

Deno.test("mount: messages for missing values, non-numbers and unmatched alternatives are plain", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  const message = async (method: string, path: string, body?: unknown) =>
    (await world.call(method, path, { as, ...(body !== undefined && { body }) })).body.error
      .message;
  eq(
    await message("POST", "/api/v1/api-keys", { scopes: ["agents:read"] }),
    "body.name: is missing",
  );
  eq(
    await message("GET", "/api/v1/api-keys?limit=abc"),
    "query.limit: must be a whole number in decimal digits",
  );
  for (const time of ["yesterday", "2026-02-29", "1769860800"]) {
    eq(
      await message("GET", `/api/audit?start_time=${time}`),
      "query.start_time: must be an ISO 8601 date or time, such as 2026-01-31 or " +
        "2026-01-31T12:00:00Z",
    );
  }
  const held = await message("POST", "/api/v1/webhooks/wh_1/enable", { held: "some" });
  ok(!held.endsWith("Invalid input"), held);
});

Deno.test("mount: validation messages describe the fault, not the rule", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  const repository = { name: "r", provider: "generic", url: "https://git.example/r.git" };
  const repos = "/api/v1/gitops/repos";
  const cases: readonly (readonly [path: string, body: unknown, told: string])[] = [
    [repos, { ...repository, username: "a:b", password: "x" }, "username: holds a colon"],
    [
      repos,
      { ...repository, password: "x" },
      "username: is missing: `username` and `password` go together",
    ],
    [
      repos,
      { ...repository, token: "t", username: "u", password: "p" },
      "token: cannot be combined with `username`: give one of them",
    ],
    [repos, { ...repository, policy_path: "../x" }, "policy_path: leads out of the repository"],
    [
      "/api/v1/gitops/rollback",
      { policy_id: "pol_1", version: "v1" },
      "version: must be a version number, such as 1",
    ],
    [
      "/api/shield/evaluate",
      { replay: 1 },
      "policy: is missing: a replay needs `policy` or `patterns`",
    ],
    [
      "/api/shield/evaluate",
      { replay: 1, policy: null, labels: {} },
      "labels: must be left out: a replay uses the labels of the agents",
    ],
  ];
  for (const [path, body, told] of cases) {
    const answer = await world.call("POST", path, { as, body });
    deq([answer.status, answer.body.error.message], [400, `body.${told}`]);
  }
});

Deno.test("mount: the refusal of a body with many faults is short", async () => {
  await using world = await World.open();
  const as = (await world.signUp()).token;
  const many = (of: unknown) =>
    Object.fromEntries(Array.from({ length: 5_000 }, (_, i) => [`r${i}`, of]));
  const long = { ["r".repeat(60_000)]: 1 };
  for (
    const [body, faults] of [
      [{ rules: many(true) }, 100],
      [{ packs: many(true) }, 1],
      [many(true), 1],
      [{ rules: long }, 1],
      [long, 1],
    ] as const
  ) {
    const answer = await world.call("PATCH", "/api/v1/patterns", { as, body });
    const { issues } = answer.body.error.details;
    deq([answer.status, issues.length], [400, faults]);
    ok(answer.text.length < 16 * 1024, `${answer.text.length} characters`);
  }
});

Deno.test("mount: over the plan's limit a caller without the right gets 429 too, and nothing is recorded", async () => {
  await using world = await World.open({
    config: { plans: { enterprise: { requests_per_minute: 3 } } },
  });
  const owner = await world.signUp();
  const { value: as } = await world.key(owner, ["agents:read"]);
  const statuses = [];
  for (let n = 0; n < 5; n++) {
    statuses.push((await world.call("GET", "/api/v1/webhooks", { as })).status);
  }
  deq(statuses, [403, 403, 429, 429, 429]);
  const refused = await world.call("GET", "/api/v1/webhooks", { as });
  eq(refused.body.error.code, "RATE_LIMIT_EXCEEDED");
  await world.advance(60_000);
  const trail = await world.trail(owner);
  eq(trail.filter((type) => type === "access_denied").length, 2);
});

Deno.test("mount: a client that leaves in the middle of its body is not logged as a bug", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      controller.enqueue(new TextEncoder().encode('{"name":'));
    },
    pull(controller) {
      controller.error(new TypeError("request body receiver not connected"));
    },
  });
  const response = await mount(world.app, routes, upgrades)(
    new Request("http://localhost/api/v1/api-keys", {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body,
    }),
  );
  eq(response.status, 400);
  eq((await response.json()).error.code, "VALIDATION_FAILED");
  deq(world.logged, []);
});

Deno.test("mount: numbers in queries take decimal digits only, on every route", () => {
  const others = [
    "0x10",
    "0b1",
    "1e1",
    " 5",
    "5 ",
    "+5",
    "-5",
    "5.0",
    "5.",
    "1_0",
    "٥",
    "",
    "null",
  ];
  let fields = 0;
  for (const { id, query } of [...routes, ...extraTools]) {
    for (const [name, field] of Object.entries(query?.shape ?? {})) {
      const { type } = z.toJSONSchema(field, { io: "input", unrepresentable: "any" });
      if (type !== "integer") continue;
      fields++;
      deq(field.safeParse("7").data, 7, `${id} ${name}`);
      for (const text of others) eq(field.safeParse(text).success, false, `${id} ${name} ${text}`);
      for (const value of [true, null, [5], "9".repeat(400)]) ok(!field.safeParse(value).success);
    }
  }
  ok(fields > 20, `only ${fields} fields hold numbers`);
});

Deno.test("mount: an incomplete WebSocket handshake gets 400 and is not logged as a bug", async () => {
  await using world = await World.open();
  const { value } = await world.key(await world.signUp(), AGENT_RIGHTS);
  const serve = mount(world.app, routes, upgrades);
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, serve);
  for (const more of ["", "Connection: upgrade\r\n"]) {
    const socket = await Deno.connect({ port: server.addr.port });
    const head = `GET /ws HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n${more}` +
      `Sec-WebSocket-Protocol: relay.agent.v1\r\nAuthorization: Bearer ${value}\r\n\r\n`;
    await socket.write(new TextEncoder().encode(head));
    const answer = new Uint8Array(4096);
    const read = await socket.read(answer);
    const text = new TextDecoder().decode(answer.subarray(0, read ?? 0));
    ok(text.startsWith("HTTP/1.1 400 "), text);
    socket.close();
  }
  deq(world.logged, []);
});

Deno.test("mount: an id is visible ASCII of at most 128 characters", async () => {
  await using world = await World.open();
  const { owner } = await linkAgent(world);
  const status = async (id: string) =>
    (await world.call("GET", `/api/v1/agents/${encodeURIComponent(id)}`, { as: owner.token }))
      .status;
  for (const id of ["a b", "é", "\u0000", "a\n", "x".repeat(129)]) eq(await status(id), 400, id);
  for (const id of ["agt_x", "x".repeat(128), "a~!"]) eq(await status(id), 404, id);
});

Deno.test("mount: the duration of refusals is measured too", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  await world.call("GET", "/nowhere");
  await world.call("GET", "/ws");
  const { text } = await world.call("GET", "/metrics", { as: token });
  for (const name of ["unknown", "/ws"]) {
    const sum = text.split("\n").find((line) =>
      line.startsWith(`relay_http_request_duration_seconds_sum{route="${name}"}`)
    );
    ok(Number(sum?.split(" ")[1]) > 0, sum);
  }
});
