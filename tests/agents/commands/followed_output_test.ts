import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { OutputSink } from "../../../core/agents/agents.ts";
import type { Relay } from "../../../core/relay.ts";
import { followOutput } from "../../../routes/command_output.ts";
import { SocketOutputs } from "../../../routes/http/socket_outputs.ts";
import { SocketSink } from "../../../routes/http/socket_sink.ts";
import { type SocketClient, withSocket } from "../../events/stream_fixtures.ts";
import { linkAgent } from "../../support/linked_agent.ts";
import { World } from "../../support/world.ts";
import { play, type Played } from "./output_fixtures.ts";

const wishFor = (agent_id: string, { id }: Pick<Played, "id">, from = 0) => ({
  type: "follow",
  agent_id,
  command_id: id,
  from,
});

/** The next messages about commands, until there are so many of a kind. */
async function until({ next }: SocketClient, kind: string, count = 1) {
  const seen: Awaited<ReturnType<typeof next>>[] = [];
  for (let found = 0; found < count;) {
    const message = await next();
    if (message.command_id === undefined) continue;
    seen.push(message);
    if (message.type === kind) found++;
  }
  return seen;
}

type Seen = Awaited<ReturnType<typeof until>>;

const outputOf = (messages: Seen, { id }: Pick<Played, "id">) =>
  messages.filter(({ type, command_id }) => type === "output" && command_id === id)
    .map(({ data }) => data.data).join("");

Deno.test("followed output: one socket carries the outputs of several commands, from any offset to the result", async () => {
  await using world = await World.open({ sole: true });
  const { owner: { token }, agent } = await linkAgent(world);
  const [one, two] = [await play(world, token, agent), await play(world, token, agent)];
  one.write("stdout", "grün\n");
  await world.settle();
  await withSocket(world, { as: token }, async (client) => {
    const { next, send } = client;
    eq((await next()).type, "hello");
    send(wishFor(agent.id, one));
    send(wishFor(agent.id, two, 3));
    const seen = await until(client, "status", 2);
    two.write("stdout", "abcdef\n");
    one.write("stderr", "two\n");
    await world.settle();
    for (const command of [one, two]) command.finish();
    await world.settle();
    seen.push(...await until(client, "result", 2));
    deq(
      seen.filter(({ command_id }) => command_id === one.id).map(({ type, id, data }) =>
        type === "output" ? [type, id, data] : [type, id, data.status]
      ),
      [
        ["status", null, "running"],
        ["output", "6", { stream: "stdout", offset: 0, data: "grün\n" }],
        ["output", "10", { stream: "stderr", offset: 6, data: "two\n" }],
        ["result", "10", "succeeded"],
      ],
    );
    eq(outputOf(seen, two), "def\n");
    // A command that has ended is read from its record.
    send(wishFor(agent.id, one, 6));
    eq(outputOf(await until(client, "result"), one), "two\n");
    eq(world.app.streams.size, 1);
  });
});

Deno.test("followed output: unfollow ends it, a repeated follow begins anew, and a closed socket leaves nothing", async () => {
  await using world = await World.open({ sole: true });
  const { owner: { token }, agent } = await linkAgent(world);
  const [one, two] = [await play(world, token, agent), await play(world, token, agent)];
  one.write("stdout", "first\n");
  await world.settle();
  await withSocket(world, { as: token }, async (client) => {
    const { send } = client;
    send(wishFor(agent.id, one));
    send(wishFor(agent.id, two));
    await until(client, "status", 2);
    send(wishFor(agent.id, one));
    const again = await until(client, "status");
    eq(again.at(-1)!.command_id, one.id);
    eq(outputOf(await until(client, "output"), one), "first\n");
    eq(world.app.streams.size, 3);
    send({ type: "unfollow", command_id: one.id });
    send({ type: "unfollow", command_id: "cmd_none" });
    send({ type: "ping" });
    while ((await client.next()).type !== "pong");
    eq(world.app.streams.size, 2);
    one.write("stdout", "unread\n");
    two.write("stdout", "read\n");
    await world.settle();
    deq((await until(client, "output")).map(({ command_id }) => command_id), [two.id]);
  });
  await world.quiet();
  eq(world.app.streams.size, 0);
});

Deno.test("followed output: a refusal is a message for its command, and the socket goes on", async () => {
  await using world = await World.open({ sole: true });
  const { owner, agent } = await linkAgent(world);
  const stranger = await linkAgent(world);
  const command = await play(world, owner.token, agent);
  const foreign = await play(world, stranger.owner.token, stranger.agent);
  const refusals = async (as: string, frames: readonly unknown[]) => {
    const codes: string[] = [];
    await withSocket(world, { as }, async (client) => {
      for (const frame of frames) client.send(frame);
      for (const { command_id, data } of await until(client, "refused", frames.length)) {
        codes.push(`${command_id} ${data.code}`);
      }
      client.send({ type: "ping" });
      while ((await client.next()).type !== "pong");
    });
    return codes.sort();
  };
  deq(
    await refusals(owner.token, [
      wishFor(agent.id, { id: "cmd_none" }),
      wishFor(agent.id, foreign),
      wishFor(stranger.agent.id, { id: "cmd_foreign" }),
      { ...wishFor(agent.id, { id: "cmd_from" }), from: -1 },
      { ...wishFor(agent.id, { id: "cmd_far" }), from: 2 ** 40 },
      { type: "follow", command_id: "cmd_bare" },
    ]),
    [
      "cmd_bare VALIDATION_FAILED",
      "cmd_far VALIDATION_FAILED",
      "cmd_foreign AGENT_NOT_FOUND",
      "cmd_from VALIDATION_FAILED",
      "cmd_none NOT_FOUND",
      `${foreign.id} NOT_FOUND`,
    ].sort(),
  );
  const other = await world.key(owner, ["approvals:read"]);
  deq(await refusals(other.value, [wishFor(agent.id, command)]), [
    `${command.id} INSUFFICIENT_SCOPES`,
  ]);
  const reader = await world.key(owner, ["agents:read"]);
  await withSocket(world, { as: reader.value }, async (client) => {
    client.send(wishFor(agent.id, command));
    await until(client, "status");
  });
  const audit = async (type: string, actor: string) =>
    (await world.call("GET", `/api/audit?event_type=${type}&actor=${actor}`, { as: owner.token }))
      .body.events.map(({ details }: { details: { endpoint: string; status?: number } }) =>
        `${details.endpoint} ${details.status}`
      ).sort();
  const endpoint = "GET /api/v1/agents/{id}/commands/{command_id}/output";
  deq(await audit("access_denied", other.id), [`${endpoint} undefined`]);
  deq(await audit("api_key_used", other.id), [`${endpoint} 403`, "GET /ws 101"]);
  deq(await audit("api_key_used", reader.id), [`${endpoint} 200`, "GET /ws 101"]);
});

Deno.test("followed output: a socket follows at most 32 commands, and each follow counts as a request", async () => {
  await using world = await World.open({
    sole: true,
    config: { limits: { live: { requests_per_minute: 40 } } },
  });
  const { owner, agent } = await linkAgent(world);
  const reader = await world.key(owner, ["agents:read"]);
  const commands: Played[] = [];
  for (let n = 0; n < 33; n++) commands.push(await play(world, owner.token, agent));
  await withSocket(world, { as: reader.value }, async (client) => {
    for (const command of commands) client.send(wishFor(agent.id, command));
    const seen = await until(client, "status", 32);
    const refused = seen.filter(({ type }) => type === "refused");
    deq(refused.map(({ command_id, data }) => [command_id, data.code, data.details.limit]), [
      [commands[32]!.id, "RATE_LIMIT_EXCEEDED", 32],
    ]);
    client.send({ type: "unfollow", command_id: commands[0]!.id });
    client.send(wishFor(agent.id, commands[32]!));
    eq((await until(client, "status")).at(-1)!.command_id, commands[32]!.id);
    // The handshake and 33 follows were admitted.
    for (let n = 0; n < 7; n++) client.send(wishFor(agent.id, commands[1]!));
    const last = (await until(client, "refused")).at(-1)!;
    deq([last.data.code, last.data.details.limit], ["RATE_LIMIT_EXCEEDED", 40]);
  });
});

/** A socket's sink after its hello, and what it sent. */
function recordedSink(world: World) {
  const sent: string[] = [];
  const socket = {
    readyState: WebSocket.OPEN,
    bufferedAmount: 0,
    send: (text: string) => sent.push(text),
  };
  const sink = new SocketSink(world.app, socket as unknown as WebSocket, false);
  sink.send([{ kind: "hello", id: null, json: "{}" }]);
  return { sink, sent };
}

Deno.test("followed output: wishes that are dropped while they are opened are bounded too", async () => {
  await using world = await World.open({ sole: true });
  const { sink, sent } = recordedSink(world);
  const opened = Promise.withResolvers<() => void>();
  const outputs = new SocketOutputs(sink, world.app.ports.log, () => opened.promise);
  for (let n = 0; n < 33; n++) {
    outputs.follow(wishFor("agt_1", { id: `cmd_${n}` }));
    outputs.unfollow(`cmd_${n}`);
  }
  const refused = JSON.parse(sent[1]!);
  deq([refused.command_id, refused.data.details.retry_after, sent.length], ["cmd_32", 1, 2]);
  let left = 0;
  opened.resolve(() => left++);
  await world.settle();
  eq(left, 32);
});

Deno.test("followed output: an output that is no longer followed sends nothing, its end included", async () => {
  await using world = await World.open({ sole: true });
  const { sink, sent } = recordedSink(world);
  const opened: OutputSink[] = [];
  const outputs = new SocketOutputs(sink, world.app.ports.log, (_follow, output) => {
    opened.push(output);
    return Promise.resolve(() => {});
  });
  for (let n = 0; n < 2; n++) await outputs.follow(wishFor("agt_1", { id: "cmd_1" }));
  const [former, present] = opened as [OutputSink, OutputSink];
  former.end("interrupted");
  former.send([{ kind: "status", id: null, json: "{}" }]);
  eq(sent.length, 1, "only the hello");
  present.end("interrupted");
  eq(JSON.parse(sent[1]!).type, "end");
});

Deno.test("followed output: lost rights end the output within a second, and the events go on", async () => {
  await using world = await World.open({ sole: true });
  const { owner, agent } = await linkAgent(world);
  const key = await world.key(owner, ["agents:read", "approvals:read"]);
  const command = await play(world, owner.token, agent);
  await withSocket(world, { as: key.value }, async (client) => {
    client.send(wishFor(agent.id, command));
    await until(client, "status");
    const body = { scopes: ["approvals:read"] };
    await world.call("PATCH", `/api/v1/api-keys/${key.id}`, { as: owner.token, body });
    await world.advance(1_000);
    command.write("stdout", "secret\n");
    const [end] = await until(client, "end");
    deq([end!.command_id, end!.data.code, end!.data.name, end!.data.then], [
      command.id,
      4403,
      "rights_lost",
      "ask for rights",
    ]);
    client.send({ type: "ping" });
    while ((await client.next()).type !== "pong");
    eq(world.app.streams.size, 1);
  });
});

/** A socket whose client reads when the test says so. */
class SlowSocket {
  readyState: number = WebSocket.OPEN;
  bufferedAmount = 0;
  most = 0;
  readonly read: Record<string, unknown>[] = [];

  send(text: string): void {
    this.bufferedAmount += text.length;
    this.most = Math.max(this.most, this.bufferedAmount);
    const { type, command_id, data } = JSON.parse(text);
    this.read.push({ type, command_id, ...data });
  }

  close(): void {
    this.readyState = WebSocket.CLOSED;
  }
}

/** Outputs on a slow socket, whose stream has begun. */
async function slowOutputs(world: World, token: string) {
  const app: Relay = world.app;
  const actor = await app.authenticator.authenticate(token, "live");
  const socket = new SlowSocket();
  const sink = new SocketSink(app, socket as unknown as WebSocket, false);
  sink.send([{ kind: "hello", id: null, json: "{}" }]);
  const request = { id: "req_1", lastEventId: null };
  const outputs = new SocketOutputs(
    sink,
    app.ports.log,
    (follow, output) => followOutput(app, actor, request as never, follow, output),
  );
  return { outputs, socket };
}

Deno.test("followed output: what one socket has not read holds back every output on it, and nothing is lost", async () => {
  await using world = await World.open({ sole: true });
  const { owner: { token }, agent } = await linkAgent(world);
  const text = "0123456789abcde\n".repeat(1024);
  const commands: Played[] = [];
  for (let n = 0; n < 8; n++) {
    const command = await play(world, token, agent);
    for (let part = 0; part < 20; part++) command.write(part % 2 ? "stdout" : "stderr", text);
    commands.push(command);
  }
  await world.settle();
  const { outputs, socket } = await slowOutputs(world, token);
  for (const command of commands) outputs.follow(wishFor(agent.id, command));
  await world.settle();
  for (const command of commands) command.finish();
  const results = () => socket.read.filter(({ type }) => type === "result").length;
  for (let drains = 0; results() < commands.length; drains++) {
    ok(drains < 100, "each drain lets some output through");
    socket.bufferedAmount = 0;
    await world.advance(20);
  }
  ok(socket.most < 224 * 1024, `${socket.most} bytes were unread`);
  eq(socket.readyState, WebSocket.OPEN);
  for (const { id } of commands) {
    let position = 0;
    for (const { type, command_id, offset, data } of socket.read) {
      if (type !== "output" || command_id !== id) continue;
      eq(offset, position);
      position += (data as string).length;
    }
    eq(position, 20 * text.length);
  }
});

Deno.test("followed output: a socket that closes with much unread ends its outputs", async () => {
  await using world = await World.open({ sole: true });
  const { owner: { token }, agent } = await linkAgent(world);
  const command = await play(world, token, agent);
  for (let n = 0; n < 60; n++) command.write(n % 2 ? "stdout" : "stderr", "x".repeat(16_000));
  await world.settle();
  const { outputs, socket } = await slowOutputs(world, token);
  outputs.follow(wishFor(agent.id, command));
  await world.settle();
  ok(socket.bufferedAmount > 128 * 1024);
  socket.readyState = WebSocket.CLOSING;
  await world.advance(20);
  outputs.close();
  await world.settle();
  eq(world.app.streams.size, 0);
});
