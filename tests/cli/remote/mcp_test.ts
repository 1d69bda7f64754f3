import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { Endpoint } from "../../../core/cli/remote/mcp/endpoint.ts";
import { finish, linkAgent, runsOf } from "../../support/linked_agent.ts";
import { World } from "../../support/world.ts";
import { McpClient, modern } from "./mcp_client.ts";
import { LOGIN, PASSWORD, terminal } from "./terminal.ts";

const HOUR_MS = 3_600_000;

type Wrap = (send: typeof fetch) => typeof fetch;

/** A world with an agent, and a signed-in terminal. */
async function begin() {
  const world = await World.open();
  const home = await Deno.makeTempDir({ prefix: "relay-test-" });
  const here = await linkAgent(world);
  const { run } = terminal(world, home);
  eq((await run(LOGIN, PASSWORD)).code, 0);
  return {
    ...here,
    world,
    run,
    client: (through?: Wrap, args: readonly string[] = []) =>
      new McpClient(world, home, { args, ...(through && { through }) }),
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await Deno.remove(home, { recursive: true });
    },
  };
}

/** What `fetch` throws when nobody listens at the address. */
const refused = () => new TypeError("fetch failed", { cause: new Error("client error (Connect)") });
/** What it throws when the connection breaks after the request. */
const broken = () => new TypeError("fetch failed", { cause: new Error("connection closed") });

Deno.test("relay mcp: a client with a session lists the common tools, calls them and hears of changes", async () => {
  await using here = await begin();
  const { world, owner, agent } = here;
  const client = here.client();
  eq((await client.initialize()).result.protocolVersion, "2025-11-25");
  const { tools } = (await client.ask("tools/list")).result;
  eq(tools.length, 12);
  const { structuredContent } = await client.call("list_agents");
  deq(structuredContent.agents.map(({ id }: { id: string }) => id), [agent.id]);
  deq((await client.ask("resources/subscribe", { uri: "relay://audit" })).result, {});
  await world.settle();
  await world.call("POST", "/api/audit/event", {
    as: owner.token,
    body: { event_type: "custom.event" },
  });
  await world.settle();
  eq((await client.told("notifications/resources/updated")).params.uri, "relay://audit");
  const { code, err } = await client.close();
  deq([code, err], [0, ""]);
  const trail = await world.trail(owner);
  ok(trail.includes("session_started") && trail.includes("session_closed"));
});

Deno.test("relay mcp: a client of the current revision gets output as it comes, and any text in a name", async () => {
  await using here = await begin();
  const { world, agent } = here;
  agent.script = () => "silent";
  const client = here.client(undefined, ["--tools", "all"]);
  const found = await client.ask("server/discover", modern());
  deq(found.result.supportedVersions, ["2026-07-28"]);
  ok((await client.ask("tools/list", modern())).result.tools.length > 40);
  const id = client.begin("tools/call", {
    name: "run_command",
    arguments: { agent_id: agent.id, command: "make" },
    ...modern({ progressToken: "p" }),
  });
  await world.settle();
  const { command_id } = await client.until(() => runsOf(agent)[0]);
  agent.send({ type: "output", command_id, stream: "stdout", data: "one\n" });
  const told = await client.told("notifications/progress");
  deq(told.params, { progressToken: "p", progress: 1, message: "one\n" });
  finish(agent, command_id);
  eq(await client.wake(), 50, "no client reads the progress together with the answer");
  eq((await client.answer(id)).result.structuredContent.stdout, "one\n");
  for (const uri of ["relay://ünknown", " relay://x", "=?x"]) {
    const { error } = await client.ask("resources/read", { uri, ...modern() });
    eq(error.message, "Resource not found", uri);
  }
  eq((await client.close()).code, 0);
});

Deno.test("relay mcp: a cancelled call ends its command and has no answer, in every revision", async () => {
  await using here = await begin();
  const { world, agent } = here;
  agent.script = () => "silent";
  for (const version of ["2026-07-28", "2025-11-25"]) {
    const client = here.client();
    if (version === "2025-11-25") await client.initialize();
    const before = runsOf(agent).length;
    const id = client.begin("tools/call", {
      name: "run_command",
      arguments: { agent_id: agent.id, command: "make" },
      ...(version === "2026-07-28" && modern()),
    });
    await world.settle();
    const { command_id } = await client.until(() => runsOf(agent)[before]);
    client.write({ method: "notifications/cancelled", params: { requestId: id } });
    const cancels = () =>
      agent.received.filter((frame) => frame.type === "cancel" && frame.command_id === command_id);
    while (cancels().length === 0) await world.settle();
    finish(agent, command_id, { reason: "cancelled", exit_code: null, signal: "SIGTERM" });
    await world.settle();
    await client.close();
    eq(cancels().length, 1, version);
    deq(client.messages.filter((message) => message.id === id), [], version);
  }
});

Deno.test("relay mcp: lines have a bound, and so have messages under way", async () => {
  await using here = await begin();
  here.agent.script = () => "silent";
  const client = here.client();
  client.writeText(`{"x":"${"x".repeat(1024 * 1024)}"}\n[]\nnot JSON\n\n{"id":1,"result":{}}\n`);
  await client.until(() => client.messages[2]);
  deq(client.messages.map(({ error }) => error.code), [-32600, -32600, -32700]);
  match(client.messages[0].error.message, /^A line has over 1048576 bytes/);
  const call = {
    name: "run_command",
    arguments: { agent_id: here.agent.id, command: "make" },
    ...modern(),
  };
  for (let n = 0; n < 64; n++) client.begin("tools/call", call);
  const { error } = await client.answer(client.begin("tools/call", call));
  deq([error.code, error.data.code], [429, "RATE_LIMIT_EXCEEDED"]);
  const closed = client.close();
  eq(await client.wake(), 1_000, "the last calls get a second");
  eq((await closed).code, 0);
  for (const { command_id } of runsOf(here.agent)) {
    finish(here.agent, command_id, { reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  }
});

Deno.test("relay mcp: a relay that is away gets the request when it is back", async () => {
  await using here = await begin();
  let away = 3;
  const client = here.client((send) => async (url, init) => {
    if (away-- > 0) throw refused();
    return await send(url, init);
  });
  const id = client.begin("tools/call", {
    name: "run_command",
    arguments: { agent_id: here.agent.id, command: "uptime" },
    ...modern(),
  });
  for (const ms of [250, 500, 1_000]) eq(await client.wake(), ms);
  eq((await client.answer(id)).result.structuredContent.status, "succeeded");
  const { err } = await client.close();
  match(err, /^relay: .* cannot be reached: client error \(Connect\)\. Trying again\.\n.*again\n$/);
});

Deno.test("relay mcp: a call whose answer was lost is not repeated without an idempotency key", async () => {
  await using here = await begin();
  let loses = true;
  const client = here.client((send) => async (url, init) => {
    const response = await send(url, init);
    if (!loses) return response;
    await response.text();
    throw broken();
  });
  const args = { agent_id: here.agent.id, command: "uptime" };
  const { code, message } = await client.call("run_command", args, modern());
  eq(code, 503);
  match(message, /may have had its effect: look with list_commands/);
  eq(runsOf(here.agent).length, 1);
  const keyed = modern({ "relay/idempotencyKey": "k" });
  const id = client.begin("tools/call", { name: "run_command", arguments: args, ...keyed });
  await client.until(() => runsOf(here.agent)[1]);
  loses = false;
  await client.wake();
  eq((await client.answer(id)).result.structuredContent.status, "succeeded");
  eq(runsOf(here.agent).length, 2);
  await client.close();
});

Deno.test("relay mcp: a session that the relay ended is opened anew with its subscriptions", async () => {
  await using here = await begin();
  const { world, owner } = here;
  let session = "";
  const client = here.client((send) => async (url, init) => {
    const response = await send(url, init);
    session = response.headers.get("mcp-session-id") ?? session;
    return response;
  });
  await client.initialize();
  await client.ask("resources/subscribe", { uri: "relay://audit" });
  await world.settle();
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  eq((await world.raw("DELETE", "/mcp", { as: owner.token, headers })).status, 204);
  await world.advance(1_000);
  const before = session;
  deq((await client.call("list_agents")).structuredContent.agents.length, 1);
  ok(session !== before);
  await client.wake();
  await client.told("notifications/tools/list_changed");
  eq((await client.told("notifications/resources/updated")).params.uri, "relay://audit");
  await world.call("POST", "/api/audit/event", {
    as: owner.token,
    body: { event_type: "custom.event" },
  });
  await world.settle();
  eq((await client.told("notifications/resources/updated", 2)).params.uri, "relay://audit");
  await client.close();
});

Deno.test("relay mcp: a client whose first stream could not be opened hears that anything may have changed", async () => {
  await using here = await begin();
  let refusals = 0;
  const client = here.client((send) => (url, init) =>
    init?.method === "GET" && refusals++ === 0
      ? Promise.reject(new TypeError("connection refused"))
      : send(url, init)
  );
  await client.initialize();
  await client.wake();
  await client.told("notifications/tools/list_changed");
  await client.close();
});

Deno.test("relay mcp: a subscription outlives the relay's stop, and the client hears that anything may have changed", async () => {
  await using here = await begin();
  const { world } = here;
  const client = here.client();
  const notifications = { toolsListChanged: true, resourceSubscriptions: ["relay://audit"] };
  const id = client.begin("subscriptions/listen", { notifications, ...modern() });
  await client.told("notifications/subscriptions/acknowledged");
  world.mcp.close();
  ok(await client.wake() > 0);
  const { _meta } = (await client.told("notifications/tools/list_changed")).params;
  eq(_meta["io.modelcontextprotocol/subscriptionId"], id);
  eq((await client.told("notifications/resources/updated")).params.uri, "relay://audit");
  eq(client.messages.filter(({ method }) => /acknowledged$/.test(method)).length, 1);
  eq((await client.close()).code, 0);
});

Deno.test("relay mcp: the session of the profile is refreshed, and its end is told with what to do", async () => {
  await using here = await begin();
  const { world } = here;
  const client = here.client();
  await client.initialize();
  world.clock.nowMs += HOUR_MS;
  eq((await client.call("list_agents")).structuredContent.agents.length, 1);
  eq((await here.run(["logout"])).code, 0);
  const { code, message } = await client.call("list_agents");
  const again = "Sign in again: relay login --url http://127.0.0.1:9081 --profile default";
  deq([code, message], [401, `There is no profile default any more. ${again}`]);
  eq(client.err, `relay: ${message}\n`);
  eq((await here.run(LOGIN, PASSWORD)).code, 0);
  eq((await client.call("list_agents")).structuredContent.agents.length, 1);
  world.clock.nowMs += 100 * 24 * HOUR_MS;
  const ended = (await client.call("list_agents")).message as string;
  eq(ended, `The session has ended. ${again}`);
  await client.close();
});

Deno.test("relay mcp: a profile that moved to another relay sends its credential to neither", async () => {
  await using here = await begin();
  const client = here.client();
  eq((await client.call("list_agents")).structuredContent.agents.length, 1);
  eq(
    (await here.run([...LOGIN, "--url", "other.example", "--profile", "default"], PASSWORD)).code,
    0,
  );
  const before = client.urls.length;
  const { code, message } = await client.call("list_agents");
  eq(code, 401);
  match(message, /^The profile default is for https:\/\/other\.example now, not for http:/);
  eq(client.urls.length, before);
  await client.close();
});

Deno.test("relay mcp: a session that cannot be refreshed ends the command at once, with 3", async () => {
  await using here = await begin();
  here.world.clock.nowMs += 100 * 24 * HOUR_MS;
  const { code, out, err } = await here.run(["mcp"]);
  deq([code, out], [3, ""]);
  match(err, /^relay: The session has ended\. Sign in again: relay login --url/);
});

Deno.test("relay mcp: a request that never reached the relay is told from one whose answer was lost", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const url = `http://127.0.0.1:${listener.addr.port}`;
  const target = { url, profile: null, token: () => Promise.resolve("key") };
  const endpoint = new Endpoint(target, "all", { fetch, after: () => () => {} });
  const send = () =>
    endpoint.send({
      method: "POST",
      headers: {},
      body: "{}",
      signal: new AbortController().signal,
      receive: () => Promise.resolve(),
    }).catch(({ code, details }) => [code, details]);
  const accepted = listener.accept();
  const asked = send();
  const connection = await accepted;
  await connection.read(new Uint8Array(1_000));
  connection.close();
  deq(await asked, ["UNREACHED", {}]);
  listener.close();
  deq(await send(), ["UNREACHED", { sent: false }]);
});
