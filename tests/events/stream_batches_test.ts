import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { BUFFER_BYTES_MAX } from "../../core/events/streams/stream.ts";
import { NewEvents } from "../../core/events/streams/new_events.ts";
import type { Prepared } from "../../core/events/streams/message.ts";
import { View } from "../../core/events/streams/view.ts";
import { OWN_EVENTS } from "../../core/events/emit.ts";
import type { Scope } from "../../core/identity/identity.ts";
import { BATCHES_PROTOCOL, EVENTS_PROTOCOL } from "../../routes/http/protocols.ts";
import { SocketSink } from "../../routes/http/socket_sink.ts";
import { type Account, World } from "../support/world.ts";
import { happen, placeIn, READ, type SocketClient, withSocket } from "./stream_fixtures.ts";

const TYPES = "agent_created,agent_deleted,approval_requested";
/** The data of a frame's messages have this many bytes before the one that ends it. */
const FRAME_BYTES = 16 * 1024;

/** Texts of the frames that a socket gets from now on. */
function framesOf({ socket }: SocketClient): string[] {
  const frames: string[] = [];
  socket.addEventListener("message", ({ data }) => frames.push(data));
  return frames;
}

const idsOf = (frames: readonly string[]) =>
  frames.flatMap((frame) => frame.split("\n").map((line) => JSON.parse(line).id));

/** Puts events into the log together, of 1 KiB unless said. */
async function happenTogether(
  world: World,
  owner: Account,
  count: number,
  letters = 512,
): Promise<void> {
  const details = { ...OWN_EVENTS.agent_created!.example, hostname: "é".repeat(letters) };
  await Promise.all(
    Array.from({ length: count }, () => happen(world, owner, "agent_created", "agt_1", details)),
  );
  await world.app.log.flush();
}

/** Reads until a message has this id. */
async function until({ next }: SocketClient, id: string): Promise<void> {
  while ((await next()).id !== id);
}

Deno.test("batches: what is ready together is one frame, and without the subprotocol one frame a message", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, READ);
  const seen: string[][] = [];
  for (const offered of [[EVENTS_PROTOCOL, BATCHES_PROTOCOL], [EVENTS_PROTOCOL]]) {
    await withSocket(world, { as: value, protocols: offered }, async (client) => {
      eq(client.socket.protocol, offered.at(-1));
      eq((await client.next()).type, "hello");
      const frames = framesOf(client);
      await world.app.log.flush();
      const head = await world.app.log.head({ org: owner.org, space: "live" });
      await happenTogether(world, owner, 10, 4); // too few bytes to be numbered by several commits
      await until(client, placeIn(world, owner, head + 10));
      deq(idsOf(frames), Array.from({ length: 10 }, (_, n) => placeIn(world, owner, head + 1 + n)));
      seen.push(frames);
    });
  }
  deq(seen.map(({ length }) => length), [1, 10]);
});

Deno.test("batches: a frame ends with the message that brings it to 16 KiB, live and when resuming", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, READ);
  const all: string[][] = [];
  await withSocket(world, { as: value, protocols: [BATCHES_PROTOCOL] }, async (client) => {
    const { id } = await client.next();
    client.send({ type: "resume", types: TYPES });
    eq((await client.next()).type, "hello");
    await world.app.log.flush();
    const head = await world.app.log.head({ org: owner.org, space: "live" });
    const last = placeIn(world, owner, head + 80);
    for (const again of [false, true]) {
      const frames = framesOf(client);
      if (again) {
        await world.advance(1_000);
        client.send({ type: "resume", types: TYPES, last_event_id: id });
      } else await happenTogether(world, owner, 80);
      await until(client, last);
      all.push(frames.filter((frame) => frame.startsWith('{"type":"event"')));
    }
  });
  const bytesOf = (line: string) =>
    new TextEncoder().encode(JSON.stringify(JSON.parse(line).data)).length;
  for (const frames of all) {
    ok(frames.length >= 5, `${frames.length} frames of 80 messages`);
    for (const frame of frames) {
      const before = frame.split("\n").slice(0, -1).map(bytesOf).reduce((sum, n) => sum + n, 0);
      ok(before < FRAME_BYTES, `${before} bytes came before the last message`);
    }
  }
  const [live, resumed] = all.map(idsOf) as [string[], string[]];
  deq([live.length, new Set(live).size], [80, 80]);
  deq(resumed, live);
});

Deno.test("batches: each frame holds what its reader may read then, and a revoked key ends the socket", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "approvals:read"]);
  const both = async () => {
    await Promise.all([
      happen(world, owner, "agent_created", "agt_1"),
      happen(world, owner, "approval_requested", "agt_1"),
    ]);
    await world.app.log.flush();
  };
  await withSocket(world, { as: key.value, protocols: [BATCHES_PROTOCOL] }, async (client) => {
    const types = async (count: number) => {
      const some: string[] = [];
      while (some.length < count) some.push((await client.next()).data.event_type);
      return some.sort();
    };
    eq((await client.next()).type, "hello");
    await both();
    deq(await types(2), ["agent_created", "approval_requested"]);
    const path = `/api/v1/api-keys/${key.id}`;
    await world.call("PATCH", path, { as: owner.token, body: { scopes: ["approvals:read"] } });
    await world.advance(1_000);
    await both();
    await both();
    deq(await types(2), ["approval_requested", "approval_requested"]);
    await world.call("POST", `${path}/revoke`, { as: owner.token });
    await world.advance(1_000);
    eq((await client.closed).code, 4401);
  });
});

Deno.test("batches: an id of another history is told, and the stream begins at the end", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, READ);
  await happenTogether(world, owner, 3);
  await withSocket(world, { as: value, protocols: [BATCHES_PROTOCOL] }, async (client) => {
    eq((await client.next()).type, "hello");
    client.send({ type: "resume", last_event_id: "e_another:1", types: TYPES });
    const hello = await client.next();
    deq([hello.type, hello.data.recovered], ["hello", false]);
    await happenTogether(world, owner, 1);
    eq((await client.next()).type, "event");
  });
});

Deno.test("batches: a reader that stands still is ended at 1 MiB", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const actor = await world.app.authenticator.authenticate(owner.token, "live");
  let longest = 0;
  const codes: number[] = [];
  const socket = {
    readyState: WebSocket.OPEN as number,
    bufferedAmount: 0,
    send(text: string) {
      longest = Math.max(longest, text.length);
      this.bufferedAmount += text.length;
    },
    close(code: number) {
      this.readyState = WebSocket.CLOSING;
      codes.push(code);
    },
  };
  const sink = new SocketSink(world.app, socket as unknown as WebSocket, true);
  const types = new Set(["agent_created"]);
  const stream = await world.app.streams.open(actor, { types }, null, sink);
  await world.settle();
  while (!stream.ended) {
    await happenTogether(world, owner, 100);
    // Were the stream catching up, it would be ended by its heartbeats.
    await world.advance(15_000);
  }
  deq(codes, [4408]);
  ok(longest > 1_024);
  ok(socket.bufferedAmount <= BUFFER_BYTES_MAX + longest, `${socket.bufferedAmount} bytes wait`);
  // Closing a real socket removes its stream; this one may wait for the next heartbeat.
  await world.advance(15_000);
  eq(world.app.streams.size, 0);
});

Deno.test("NewEvents: equal rights and filters share writes, others and notifications have their own", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  const user = await world.app.authenticator.authenticate(token, "live");
  const event: Prepared = {
    kind: "event",
    id: "e:1",
    json: "{}",
    seq: 1,
    type: "agent_created",
    agentId: "agt_1",
    thread: undefined,
    severity: "info",
    scope: "agents:read",
  };
  const withRights = (...rights: Scope[]) => ({ ...user, rights: new Set(rights) });
  const all = new View({});
  const news = new NewEvents(1, [event, null], []);
  eq(news.last, 2);
  const writes = news.writesFor(withRights("agents:read", "audit:read"), all);
  deq(writes, [[event]]);
  eq(
    news.writesFor(withRights("audit:read", "agents:read"), new View({ types: undefined })),
    writes,
  );
  deq(news.writesFor(withRights("audit:read"), all), []);
  deq(news.writesFor(withRights("agents:read"), new View({ types: new Set(["other"]) })), []);
  const types = ["agent_created", "agent_deleted"];
  eq(
    news.writesFor(user, new View({ types: new Set(types) })),
    news.writesFor(user, new View({ types: new Set(types.toReversed()) })),
  );
  const personal = new Map([[user.userId, '{"to":"one"}'], ["usr_2", '{"to":"two"}']]);
  const notice: Prepared = { ...event, kind: "notification", json: "", scope: null, personal };
  const both = new NewEvents(1, [event, notice], []);
  const textsFor = (userId: string, kind: "user" | "api_key") =>
    both.writesFor({ ...user, userId, kind }, all).flat().map(({ json }) => json);
  deq(textsFor(user.userId, "user"), ["{}", '{"to":"one"}']);
  deq(textsFor("usr_2", "user"), ["{}", '{"to":"two"}']);
  deq(textsFor("usr_2", "api_key"), ["{}"]);
  deq(textsFor("usr_3", "user"), ["{}"]);
});
