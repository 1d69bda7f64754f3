import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { eventsOf, finish, linkAgent, type Linked, runsOf } from "../support/linked_agent.ts";
import { users } from "../../kv/records/user.ts";
import { shared } from "../support/kv.ts";
import { World } from "../support/world.ts";
import { type Json, Reader, requestOf, rpc, toolError } from "./client.ts";

const MiB = 1024 * 1024;

/** Starts a command whose agent answers by hand. */
async function start(world: World, { key, agent }: Linked, more: Json = {}): Promise<Reader> {
  agent.script = () => "silent";
  const params = { name: "run_command", arguments: { agent_id: agent.id, command: "work" } };
  const options = {
    as: key.value,
    style: "modern",
    meta: { progressToken: "p" },
    ...more,
  } as const;
  const reader = new Reader(await world.send(requestOf("tools/call", params, options)));
  await world.settle();
  return reader;
}

function write({ agent }: Linked, data: string, stream: "stdout" | "stderr" = "stdout"): void {
  const { command_id } = runsOf(agent)[0]!;
  agent.send({ type: "output", command_id, stream, data });
}

Deno.test("mcp streams: output comes as progress while the command runs, then the result", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here);
  write(here, "one\n");
  const [first] = await reader.until(1);
  deq(first.params, { progressToken: "p", progress: 1, message: "one\n" });
  write(here, "two\n");
  write(here, "three\n", "stderr");
  await world.advance(100);
  const [, second] = await reader.until(2);
  deq(second.params, { progressToken: "p", progress: 2, message: "two\nthree\n" });
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
  const messages = await reader.until(Infinity);
  const { result } = messages.at(-1);
  deq([result.structuredContent.stdout, result.structuredContent.stderr], [
    "one\ntwo\n",
    "three\n",
  ]);
  eq(messages.length, 3, "nothing comes after the result");
  eq(reader.response.headers.get("x-accel-buffering"), "no");
});

Deno.test("mcp streams: a call without a token gets no progress", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here, { meta: {} });
  write(here, "one\n");
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
  eq((await reader.until(Infinity)).length, 1);
});

Deno.test("mcp streams: a client with a log level gets the command's id at once", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here, {
    meta: { "io.modelcontextprotocol/logLevel": "info" },
  });
  const [log] = await reader.until(1);
  eq(log.method, "notifications/message");
  eq(log.params.data.command_id, runsOf(here.agent)[0]!.command_id);
  finish(here.agent, log.params.data.command_id);
  await reader.until(Infinity);
});

Deno.test("mcp streams: a session's log level holds in every process", async () => {
  const kv = await Deno.openKv(":memory:");
  const one = await World.open({ kv: shared(kv), sole: false, seed: 1 });
  const two = await World.open({ kv: shared(kv), sole: false, seed: 2, clock: one.clock });
  const here = await linkAgent(two);
  const as = here.key.value;
  const opened = await rpc(one, "initialize", { protocolVersion: "2025-11-25" }, { as });
  const session = opened.headers.get("mcp-session-id")!;
  const headers = { "mcp-session-id": session, "mcp-protocol-version": "2025-11-25" };
  deq((await rpc(one, "logging/setLevel", { level: "info" }, { as, headers })).body.result, {});
  const accept = "application/json, text/event-stream";
  const reader = await start(two, here, { style: "plain", accept, headers });
  const [log] = await reader.until(1);
  eq(log.params.data.command_id, runsOf(here.agent)[0]!.command_id);
  finish(here.agent, log.params.data.command_id);
  await reader.until(Infinity);
  for (const world of [two, one]) await world[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("mcp streams: progress increases with every notification", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here);
  let written = "";
  for (let n = 0; n < 40; n++) {
    const text = `${n} `.repeat(1 + (n * 7919) % 3000);
    written += text;
    write(here, text);
    await world.advance((n * 37) % 150);
  }
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
  const messages = await reader.until(Infinity);
  const told = messages.slice(0, -1).map(({ params }) => params);
  deq(told.map(({ progress }) => progress), told.map((_, at) => at + 1));
  eq(told.map(({ message }) => message).join(""), written);
});

Deno.test("mcp streams: a client that leaves cancels its command, a normal end does not", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here);
  await reader.drop();
  await world.settle();
  const cancels = () => here.agent.received.filter(({ type }) => type === "cancel");
  eq(cancels().length, 1);
  const { command_id } = runsOf(here.agent)[0]!;
  finish(here.agent, command_id, { reason: "cancelled", exit_code: null, signal: "SIGTERM" });
  const [cancelled] = await eventsOf(world, here.owner, command_id);
  deq([cancelled!.event_type, cancelled!.details.cancelled_by], ["command_cancelled", here.key.id]);
  here.agent.script = () => ({ stdout: "fine\n" });
  const params = { name: "run_command", arguments: { agent_id: here.agent.id, command: "work" } };
  const options = { as: here.key.value, style: "modern" } as const;
  const done = new Reader(await world.send(requestOf("tools/call", params, options)));
  await done.until(Infinity);
  await done.drop();
  await world.settle();
  eq(cancels().length, 1);
});

Deno.test("mcp streams: a client with a session that leaves cancels nothing, as its revision says", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here, {
    style: "plain",
    accept: "text/event-stream",
    headers: { "mcp-protocol-version": "2025-11-25" },
  });
  await reader.drop();
  await world.settle();
  deq(here.agent.received.filter(({ type }) => type === "cancel"), []);
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
});

Deno.test("mcp streams: a client that does not read buffers at most 1 MiB of progress and gets its result", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const reader = await start(world, here);
  const text = "x".repeat(16 * 1024);
  for (let n = 0; n < 200; n++) {
    write(here, text);
    await world.advance(100);
  }
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
  await world.settle();
  const messages = await reader.until(Infinity);
  const bytes = messages.slice(0, -1).reduce((sum, { params }) => sum + params.message.length, 0);
  ok(bytes <= MiB + text.length, `${bytes} bytes waited`);
  eq(messages.at(-1).result.structuredContent.truncated, true);
});

Deno.test("mcp streams: a caller who loses its key or right gets nothing more within a second, and the command continues", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const second = await world.join(here.owner, ["owner"]);
  const tenant = { org: here.owner.org, space: "live" } as const;
  const revoke = (key: { id: string }) =>
    world.call("POST", `/api/v1/api-keys/${key.id}/revoke`, { as: here.owner.token });
  const demote = () =>
    world.app.store.transact(async (tx) => {
      const user = await tx.get(users, tenant, second.userId);
      tx.put(users, tenant, { ...user!, roles: ["viewer"] });
    });
  for (
    const [lose, code] of [[revoke, "INVALID_API_KEY"], [demote, "INSUFFICIENT_SCOPES"]] as const
  ) {
    const key = await world.key(second, ["agents:write"]);
    const reader = await start(world, { ...here, key });
    const { command_id } = runsOf(here.agent).at(-1)!;
    const say = (data: string) =>
      here.agent.send({ type: "output", command_id, stream: "stdout", data });
    say("before");
    await reader.until(1);
    await world.advance(1_000);
    await lose(key);
    await world.advance(1_000);
    say("after");
    const messages = await reader.until(Infinity);
    deq(messages.map(({ params, error }) => params?.message ?? error.data.code), ["before", code]);
    deq(here.agent.received.filter(({ type }) => type === "cancel"), []);
    finish(here.agent, command_id);
    await world.settle();
  }
});

Deno.test("mcp streams: a refusal in a stream is its last message", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const params = {
    name: "run_command",
    arguments: { agent_id: here.agent.id, command: "rm -rf /" },
  };
  const options = { as: here.key.value, style: "modern" } as const;
  const reader = new Reader(await world.send(requestOf("tools/call", params, options)));
  const [message, ...more] = await reader.until(Infinity);
  deq(more, []);
  eq(toolError({ body: message } as never).code, "COMMAND_BLOCKED");
});

Deno.test("mcp streams: a quiet stream sends a comment every 15 s", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const params = { name: "run_command", arguments: { agent_id: here.agent.id, command: "work" } };
  here.agent.script = () => "silent";
  const options = { as: here.key.value, style: "modern" } as const;
  const response = await world.send(requestOf("tools/call", params, options));
  await world.settle();
  for (let n = 0; n < 2; n++) {
    await world.advance(15_000);
    here.agent.send({ type: "heartbeat", status: "ok" });
  }
  finish(here.agent, runsOf(here.agent)[0]!.command_id);
  eq((await response.text()).split(": still here\n\n").length - 1, 2);
});

Deno.test("mcp streams: a cancellation in a session cancels the client's own command only", async () => {
  await using world = await World.open();
  const here = await linkAgent(world);
  const as = here.key.value;
  const version = { "mcp-protocol-version": "2025-11-25" };
  const open = async (as: string) => {
    const params = { protocolVersion: "2025-11-25", capabilities: {} };
    const opened = await world.send(requestOf("initialize", params, { as }));
    await opened.body?.cancel();
    return { ...version, "mcp-session-id": opened.headers.get("mcp-session-id")! };
  };
  const headers = await open(as);
  const reader = await start(world, here, {
    style: "plain",
    accept: "text/event-stream",
    headers,
    id: 7,
  });
  const cancel = async (as: string, headers: Record<string, string>, requestId: unknown) => {
    const body = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId } };
    const all = { ...headers, "content-type": "application/json", authorization: `Bearer ${as}` };
    const request = new Request("http://localhost/mcp", {
      method: "POST",
      headers: all,
      body: JSON.stringify(body),
    });
    eq((await world.send(request)).status, 202);
    await world.settle();
    return here.agent.received.filter(({ type }) => type === "cancel").length;
  };
  eq(await cancel(here.owner.token, await open(here.owner.token), 7), 0);
  eq(await cancel(as, headers, 8), 0);
  eq(await cancel(as, headers, "7"), 0, "a text is another id than a number");
  eq(await cancel(as, headers, 7), 1);
  finish(here.agent, runsOf(here.agent)[0]!.command_id, { reason: "cancelled" });
  await reader.until(Infinity);
  eq(await cancel(as, headers, 7), 1, "what is over is not ended again");
});
