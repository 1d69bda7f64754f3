import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { shared } from "../support/kv.ts";
import { World } from "../support/world.ts";
import { Reader, requestOf, rpc } from "../mcp/client.ts";
import { countedKv } from "./counted_kv.ts";
import { pair } from "./pair.ts";

async function listen(world: World, as: string): Promise<Reader> {
  const notifications = { resourceSubscriptions: ["relay://events"] };
  const request = requestOf("subscriptions/listen", { notifications }, { as, style: "modern" });
  const reader = new Reader(await world.send(request));
  await reader.until(1);
  return reader;
}

/** Starts a command of an agent that does not answer. */
async function start(world: World, as: string, agentId: string, more = {}): Promise<Reader> {
  const params = { name: "run_command", arguments: { agent_id: agentId, command: "work" } };
  const options = { as, style: "modern", meta: { progressToken: "p" }, ...more } as const;
  return new Reader(await world.send(requestOf("tools/call", params, options)));
}

Deno.test("instances: an event reaches the MCP listeners of another instance without a poll", async () => {
  await using cluster = await pair();
  const { one, two, owner } = cluster;
  const reader = await listen(two, owner.token);
  const body = { event_type: "custom.event" };
  await one.call("POST", "/api/audit/event", { as: owner.token, body });
  await one.app.log.flush();
  const [, told] = await reader.until(2);
  eq(told.params.uri, "relay://events");
  await reader.drop();
});

Deno.test("instances: an idle MCP listener makes no calls between its checks", async () => {
  const { kv, calls } = countedKv(await Deno.openKv(":memory:"));
  await using world = await World.open({ kv: shared(kv), sole: false });
  const owner = await world.signUp();
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n++) {
      world.clock.advance(1_000);
      await world.settle();
    }
  };
  /** The calls of 4 s in which no presence is renewed. */
  const callsOf4s = async () => {
    const before = calls.reads + calls.commits;
    await pass(4);
    return calls.reads + calls.commits - before;
  };
  const readers = [await listen(world, owner.token), await listen(world, owner.token)];
  await pass(5);
  const withThem = await callsOf4s();
  for (const reader of readers) await reader.drop();
  await pass(1);
  eq(withThem, await callsOf4s());
});

Deno.test("instances: a key that is revoked elsewhere loses its MCP listeners within a second", async () => {
  await using cluster = await pair();
  const { one, two, owner, value, keyId } = cluster;
  const reader = await listen(two, value);
  await two.advance(1_000);
  await one.call("POST", `/api/v1/api-keys/${keyId}/revoke`, { as: owner.token });
  await reader.until(Infinity);
});

Deno.test("instances: a client that leaves another instance than the agent's cancels its command", async () => {
  await using cluster = await pair();
  const { two, owner, agent } = cluster;
  agent.script = () => "silent";
  const reader = await start(two, owner.token, agent.id);
  const id = (await agent.until("run")).commands[0]!.command_id;
  await two.settle();
  await reader.drop();
  deq((await agent.until("cancel")).command_id, id);
  agent.finish({ command_id: id, reason: "cancelled", exit_code: null, signal: "SIGTERM" });
});

Deno.test("instances: a client cancels a call of its session at any instance", async () => {
  await using cluster = await pair();
  const { one, two, owner, agent } = cluster;
  await one.advance(5_000);
  await two.settle();
  agent.script = () => "silent";
  const as = owner.token;
  const opened = await rpc(one, "initialize", { protocolVersion: "2025-11-25" }, { as });
  const session = opened.headers.get("mcp-session-id")!;
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  const accept = "application/json, text/event-stream";
  const reader = await start(one, as, agent.id, { style: "plain", accept, headers, id: "call-1" });
  const id = (await agent.until("run")).commands[0]!.command_id;
  const text = {
    jsonrpc: "2.0",
    method: "notifications/cancelled",
    params: { requestId: "call-1" },
  };
  const told = await two.raw("POST", "/mcp", { as, headers, body: text });
  eq(told.status, 202);
  await told.body?.cancel();
  deq((await agent.until("cancel")).command_id, id);
  agent.finish({ command_id: id, reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  await reader.until(Infinity);
});
