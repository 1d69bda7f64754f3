import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import {
  AGENT_RIGHTS,
  eventsOf,
  exec,
  finish,
  linkAgent,
  runsOf,
} from "../support/linked_agent.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { World } from "../support/world.ts";
import { type Json, Reader, requestOf, tool, toolError } from "./client.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
const keyed = (key: string) => ({ meta: { "relay/idempotencyKey": key } });

Deno.test("mcp once: the same key and arguments give one change and the same answer, in header or `_meta`", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const args = { id: agent.id };
  const as = key.value;
  const first = await tool(world, "restart_agent", args, { as, ...keyed("k1") });
  const again = await tool(world, "restart_agent", args, { as, ...keyed("k1") });
  const header = { headers: { "idempotency-key": "k1" } };
  const third = await tool(world, "restart_agent", args, { as, ...header });
  deq(again.body, first.body);
  deq(third.body, first.body);
  eq(agent.received.filter(({ type }) => type === "restart").length, 1);
  const rows = await eventsOf(world, owner, agent.id);
  eq(rows.filter(({ event_type }) => event_type === "agent_restart_requested").length, 1);
});

Deno.test("mcp once: a key that is not a string is refused and changes nothing", async () => {
  await using world = await World.open();
  const { key, agent } = await linkAgent(world);
  for (const wrong of [5, null, {}, ["k"]]) {
    const meta = { "relay/idempotencyKey": wrong };
    const answer = await tool(world, "restart_agent", { id: agent.id }, { as: key.value, meta });
    const { code, details } = toolError(answer);
    deq([code, details.issues[0].path], ["VALIDATION_FAILED", "_meta.relay/idempotencyKey"]);
  }
  deq(agent.received.filter(({ type }) => type === "restart"), []);
});

Deno.test("mcp once: two simultaneous calls make one change with one answer", async () => {
  await using world = await World.open();
  const { key, agent } = await linkAgent(world);
  const twins = await Promise.all(
    Array.from(
      { length: 8 },
      () => tool(world, "delete_agent", { id: agent.id }, { as: key.value, ...keyed("k") }),
    ),
  );
  for (const twin of twins) deq(twin.body, twins[0]!.body);
  ok(!twins[0]!.body.result.isError);
});

Deno.test("mcp once: other arguments or another tool under a used key are refused and change nothing", async () => {
  await using world = await World.open();
  const { key, agent } = await linkAgent(world);
  const options = { as: key.value, ...keyed("k") };
  await tool(world, "restart_agent", { id: agent.id }, options);
  const others: [string, Json][] = [["restart_agent", { id: "agt_other" }], ["delete_agent", {
    id: agent.id,
  }]];
  for (const [name, args] of others) {
    eq(toolError(await tool(world, name, args, options)).code, "CONFLICT");
  }
  ok(
    (await tool(world, "get_agent", { id: agent.id }, { as: key.value })).body.result
      .structuredContent,
  );
});

Deno.test("mcp once: keys belong to one caller, last a day, and are visible ASCII", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const other = await world.key(owner, AGENT_RIGHTS);
  const restarts = () => agent.received.filter(({ type }) => type === "restart").length;
  const args = { id: agent.id };
  for (const as of [key.value, other.value]) {
    await tool(world, "restart_agent", args, { as, ...keyed("k") });
  }
  await world.settle();
  eq(restarts(), 2);
  world.clock.nowMs += DAY_MS;
  const { identity } = agent;
  const back = await ScriptedAgent.connect(world, key.value, { identity });
  await tool(world, "restart_agent", args, { as: key.value, ...keyed("k") });
  await world.settle();
  eq(back.received.filter(({ type }) => type === "restart").length, 1);
  for (const bad of ["", "a b", "x".repeat(256), "é"]) {
    const reply = await tool(world, "restart_agent", args, { as: key.value, ...keyed(bad) });
    eq(toolError(reply).code, "VALIDATION_FAILED", bad);
  }
});

Deno.test("mcp once: a refused change gives its key back", async () => {
  await using world = await World.open();
  const { key } = await linkAgent(world);
  const options = { as: key.value, ...keyed("k") };
  for (let n = 0; n < 2; n++) {
    const reply = await tool(world, "delete_agent", { id: "agt_missing" }, options);
    eq(toolError(reply).code, "AGENT_NOT_FOUND");
  }
});

Deno.test("mcp once: commands run once under a key, also simultaneous ones and over REST", async () => {
  await using world = await World.open();
  const { owner, key, agent } = await linkAgent(world);
  const args = { agent_id: agent.id, command: "uptime" };
  const [first, twin] = await Promise.all([
    tool(world, "run_command", args, { as: key.value, ...keyed("k") }),
    tool(world, "run_command", args, { as: key.value, ...keyed("k") }),
  ]);
  deq(first.body, twin.body);
  const rest = await exec(world, { owner, agent }, "uptime", {
    as: key.value,
    idempotencyKey: "k",
  });
  eq(rest.body.command_id, first.body.result.structuredContent.command_id);
  eq(runsOf(agent).length, 1);
  const other = await tool(world, "run_command", { ...args, command: "id" }, {
    as: key.value,
    ...keyed("k"),
  });
  eq(toolError(other).code, "CONFLICT");
});

Deno.test("mcp once: a command with a key survives a lost connection, and the retry gets its result", async () => {
  await using world = await World.open();
  const { key, agent } = await linkAgent(world);
  agent.script = () => "silent";
  const args = { agent_id: agent.id, command: "long work" };
  const options = { as: key.value, style: "modern", ...keyed("k") } as const;
  const cut = new Reader(
    await world.send(requestOf("tools/call", { name: "run_command", arguments: args }, options)),
  );
  await world.settle();
  await cut.drop();
  await world.settle();
  eq(agent.received.filter(({ type }) => type === "cancel").length, 0);
  finish(agent, runsOf(agent)[0]!.command_id, { stdout: "worked\n" });
  await world.settle();
  const { body } = await tool(world, "run_command", args, options);
  eq(body.result.structuredContent.stdout, "worked\n");
  eq(runsOf(agent).length, 1);
});

Deno.test("mcp once: an overlong key is refused before the message is read", async () => {
  await using world = await World.open();
  const message = { jsonrpc: "2.0", id: 1, method: "tools/list" };
  const { status, body } = await world.call("POST", "/mcp", {
    body: message,
    headers: { "idempotency-key": "k".repeat(256) },
  });
  deq([status, body.error.details.issues[0].path], [400, "headers.idempotency-key"]);
});
