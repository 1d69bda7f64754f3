import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import type { Fault } from "../../core/fault/fault.ts";
import type { StreamEnd } from "../../core/events/streams/ends.ts";
import { BUFFER_BYTES_MAX, type Sink } from "../../core/events/streams/stream.ts";
import { Streams } from "../../core/events/streams/streams.ts";
import { WEBHOOK_EVENTS } from "../../core/events/types/webhook_events.ts";
import { StoreUnavailableError } from "../../kv/engine/errors.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import { cookieIn, PASSWORD, SESSION, signIn } from "../access/console/console_fixtures.ts";
import { ScriptedAgent } from "../support/agent.ts";
import { type Received, StreamClient } from "../support/stream.ts";
import { OWN_PAGE, World } from "../support/world.ts";
import { revokeElsewhere } from "../support/linked_agent.ts";
import { happen, placeIn, READ, take, withSocket } from "./stream_fixtures.ts";

Deno.test("streams: a socket that resumes gets its present rights, not those of its connection", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "approvals:read"]);
  const path = `/api/v1/api-keys/${key.id}`;
  await happen(world, owner, "agent_created", "agt_1");
  await happen(world, owner, "approval_requested", "agt_1");
  const resume = JSON.stringify({ type: "resume", last_event_id: placeIn(world, owner, 0) });
  await withSocket(world, { as: key.value }, async ({ socket, next }) => {
    eq((await next()).type, "hello");
    const used = await world.call("GET", "/api/audit?event_type=api_key_used", { as: owner.token });
    deq(
      used.body.events.map(({ actor, details }: { actor: string; details: unknown }) => [
        actor,
        details,
      ]),
      [[key.id, { endpoint: "GET /ws", status: 101 }]],
    );
    const narrow = { as: owner.token, body: { scopes: ["approvals:read"] } };
    eq((await world.call("PATCH", path, narrow)).status, 200);
    socket.send(resume);
    eq((await next()).type, "hello");
    eq((await next()).data!.event_type, "approval_requested");
  });
  await withSocket(world, { as: key.value }, async ({ socket, next, closed }) => {
    eq((await next()).type, "hello");
    await world.call("POST", `${path}/revoke`, { as: owner.token });
    socket.send(resume);
    eq((await closed).code, 4401);
  });
});

Deno.test("streams: a resume frame asks for changes, and the next one leaves them", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["agents:read"]);
  await withSocket(world, { as: value }, async ({ socket, next }) => {
    eq((await next()).type, "hello");
    for (const types of ["changed", "agent_created"]) {
      socket.send(JSON.stringify({ type: "resume", types }));
      if (types === "agent_created") await world.advance(1_000);
      eq((await next()).type, "hello");
      if (types === "changed") {
        const anything = { resource_type: null, resource_id: null };
        deq(await next(), { type: "changed", id: null, data: anything });
      }
    }
    await happen(world, owner, "agent_created", "agt_1");
    await world.advance(1_000);
    eq((await next()).type, "event");
  });
});

Deno.test("streams: a socket resumes at most once a second", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, READ);
  await withSocket(world, { as: key.value }, async ({ socket, next }) => {
    await next();
    socket.send('{"type":"resume"}');
    eq((await next()).type, "hello");
    const waits = Promise.withResolvers<number>();
    const { clock } = world;
    clock.sleep = (ms) => {
      waits.resolve(ms);
      return new Promise((resolve) => clock.after(ms, resolve));
    };
    socket.send('{"type":"resume"}');
    const again = next();
    eq(await Promise.race([waits.promise, again]), 1_000);
    await world.advance(1_000);
    eq((await again).type, "hello");
  });
});

Deno.test("streams: a socket takes an agent's name, and a resume frame with an unknown one ends it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, READ);
  const agents = await world.key(owner, ["agents:admin", "agents:write"]);
  const { id } = await ScriptedAgent.connect(world, agents.value, { name: "web-1" });
  await withSocket(world, { as: key.value }, async ({ socket, next, closed }) => {
    eq((await next()).type, "hello");
    socket.send('{"type":"resume","agent_id":"web-1"}');
    eq((await next()).type, "hello");
    await happen(world, owner, "command_denied", "agt_other");
    await happen(world, owner, "command_executed", id);
    await world.app.log.flush();
    eq((await next()).data!.event_type, "command_executed");
    world.clock.sleep = () => Promise.resolve();
    socket.send('{"type":"resume","agent_id":"web-9"}');
    eq((await closed).code, 4400);
  });
  const named = await world.call("GET", "/ws?agent_id=web-9", {
    as: key.value,
    headers: { upgrade: "websocket" },
  });
  deq([named.status, named.body.error.code], [404, "AGENT_NOT_FOUND"]);
});

Deno.test("streams: a ping gets a pong, unknown frames get one warning, and the stream continues", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, READ);
  await withSocket(world, { as: key.value }, async ({ socket, next }) => {
    eq((await next()).type, "hello");
    socket.send('{"type":"ping"}');
    deq(await next(), { type: "pong" });
    for (const frame of ['{"type":"subscribe"}', "nonsense", "[]", '{"type":7}']) {
      socket.send(frame);
    }
    socket.send(new Uint8Array([1, 2]));
    socket.send('{"type":"ping","n":1}');
    const warning = await next();
    deq([warning.type, warning.data], ["warning", {
      code: "unknown_frame",
      message:
        "Ignored a frame. This stream accepts JSON frames of type resume, follow, unfollow or ping.",
    }]);
    deq(await next(), { type: "pong" });
    await happen(world, owner, "agent_created", "agt_1");
    await world.app.log.flush();
    eq((await next()).data!.event_type, "agent_created");
  });
  await withSocket(world, { as: key.value }, async ({ socket, next, closed }) => {
    await next();
    socket.send('{"type":"resume","types":7}');
    eq((await closed).code, 4400);
  });
});

Deno.test("streams: a cookie opens a socket in the space that a subprotocol names, until its session ends", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const session = (origin: string, method: string, more: RequestInit) =>
    fetch(`${origin}${SESSION}`, {
      method,
      ...more,
      headers: { ...more.headers, origin, "sec-fetch-site": "same-origin" },
    });
  let cookie = "", at = "";
  const page = async (origin: string) => {
    const body = JSON.stringify({ email: owner.email, password: PASSWORD });
    const headers = { "content-type": "application/json" };
    const answer = await session(origin, "POST", { body, headers });
    await answer.body!.cancel();
    cookie = answer.headers.get("set-cookie")!.split(";")[0]!;
    at = origin;
    return { cookie, origin };
  };
  const protocols = ["relay.events.v1", "relay.space.test"];
  await withSocket(world, { headers: page, protocols }, async ({ socket, next, closed }) => {
    eq(socket.protocol, "relay.events.v1");
    const head = await world.app.log.head({ org: owner.org, space: "test" });
    eq((await next()).id, placeIn(world, owner, head, "test"));
    eq((await session(at, "DELETE", { headers: { cookie } })).status, 204);
    await world.advance(1_000);
    eq((await closed).code, 4401);
  });
});

Deno.test("streams: a socket is refused to a cookie of another page, and with a space that contradicts", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const cookie = cookieIn(await signIn(world, owner.email));
  const [live, test] = [
    await world.key(owner, READ),
    await world.key(owner, READ, { type: "test" }),
  ];
  const refusal = async (as: string | undefined, headers: Record<string, string>) => {
    const { status, body } = await world.call("GET", "/ws", {
      as,
      headers: { upgrade: "websocket", ...headers },
    });
    return [status, body.error.details.issues?.[0].path ?? body.error.code];
  };
  const handshake = [400, "headers"];
  deq(await refusal(undefined, { cookie, ...OWN_PAGE }), handshake);
  deq(await refusal(undefined, { cookie, origin: OWN_PAGE.origin }), handshake);
  for (const origin of ["http://localhost:3000", "https://localhost", "null"]) {
    deq(await refusal(undefined, { cookie, origin }), [403, "FORBIDDEN"]);
  }
  deq(await refusal(undefined, { cookie }), [403, "FORBIDDEN"]);
  const inSpace = (space: string, more: Record<string, string> = {}) => ({
    "sec-websocket-protocol": `relay.events.v1, relay.space.${space}`,
    ...more,
  });
  const wrong = [400, "headers.sec-websocket-protocol"];
  deq(await refusal(live.value, inSpace("live")), handshake);
  deq(await refusal(live.value, inSpace("test")), wrong);
  deq(await refusal(test.value, inSpace("test")), handshake);
  deq(await refusal(test.value, inSpace("live")), wrong);
  deq(await refusal(owner.token, inSpace("test")), handshake);
  deq(await refusal(owner.token, inSpace("else")), wrong);
  deq(await refusal(owner.token, inSpace("live", { "x-relay-space": "test" })), wrong);
});

Deno.test("streams: streams that are opening count towards the limit", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const actor = await world.app.authenticator.authenticate(owner.token, "live");
  const ends: StreamEnd[] = [];
  const full: Sink = {
    send: () => {},
    bufferedBytes: BUFFER_BYTES_MAX + 1,
    drained: () => Promise.resolve(),
    end: (name) => ends.push(name),
  };
  const stream = await world.app.streams.open(actor, {}, null, full);
  world.app.streams.leave(stream);
  deq(ends, ["too_slow"]);
});

Deno.test("streams: a person has at most 50 open, and an ended one frees its place", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const colleague = await world.join(owner, ["owner"]);
  const open = () => StreamClient.open(world, owner.token);
  const clients = await Promise.all(Array.from({ length: 50 }, open));
  const more = await Promise.all(
    [1, 2].map(() => world.call("GET", "/api/events", { as: owner.token })),
  );
  for (const { status, body } of more) {
    deq([status, body.error.code, body.error.details.scope], [
      429,
      "RATE_LIMIT_EXCEEDED",
      "streams",
    ]);
  }
  clients.push(await StreamClient.open(world, colleague.token));
  await clients[0]!.cut();
  clients[0] = await open();
  for (const client of clients) await client.cut();
});

Deno.test("streams: a credential that cannot be checked ends only its own streams, after 10 s", async () => {
  await using world = await World.open();
  const [one, other] = [await world.signUp(), await world.signUp()];
  const [unknown, revoked] = [await world.key(one, READ), await world.key(other, READ)];
  const stays = await StreamClient.open(world, unknown.value);
  const ends = await StreamClient.open(world, revoked.value);
  await Promise.all([stays.next(), ends.next()]);
  const { store } = world.app;
  const get = store.get.bind(store);
  store.get = (of, tenant, id) =>
    tenant.org === one.org ? Promise.reject(new StoreUnavailableError()) : get(of, tenant, id);
  await world.call("POST", `/api/v1/api-keys/${revoked.id}/revoke`, { as: other.token });
  await world.advance(1_000);
  eq((await ends.next())!.data.name, "credential_ended");
  eq(world.app.streams.size, 1, "the other one goes on");
  await world.advance(10_000);
  store.get = get;
  eq((await stays.next())!.data.name, "interrupted");
});

Deno.test("streams: a lost credential ends its stream within a second while checks of others are slow", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const keys = [];
  for (let n = 0; n < 30; n++) keys.push(await world.key(owner, READ));
  const clients = [];
  for (const { value } of keys) clients.push(await StreamClient.open(world, value));
  for (const client of clients) await client.next();
  await revokeElsewhere(world, owner, keys.at(-1)!.id);
  const { store } = world.app;
  const get = store.get.bind(store);
  store.get = async (of, tenant, id) => {
    if (of.name === apiKeys.name) await world.clock.sleep(50);
    return await get(of, tenant, id);
  };
  // The checks wait for the clock, so nothing comes to rest before it moves.
  for (let ms = 0; ms < 950; ms += 50) {
    world.clock.advance(50);
    await world.quiet();
  }
  eq(world.app.streams.size, 29);
  eq((await clients.at(-1)!.next())!.data.name, "credential_ended");
  store.get = get;
  world.clock.advance(50);
});

Deno.test("streams: a stream whose opening cannot be recorded is closed", async () => {
  await using world = await World.open();
  const key = await world.key(await world.signUp(), READ);
  const { store } = world.app;
  const append = store.append.bind(store);
  store.append = () => Promise.reject(new StoreUnavailableError());
  eq((await world.call("GET", "/api/events", { as: key.value })).status, 503);
  store.append = append;
  await world.advance(5_000);
  eq(world.app.streams.size, 0);
});

Deno.test("streams: a stalled reader is ended at 1 MiB without effect on others", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stalled = await StreamClient.open(world, owner.token);
  const reading = await StreamClient.open(world, owner.token);
  await Promise.all([stalled.next(), reading.next()]);
  const seen: Received[] = [];
  const total = 200;
  for (let n = 0; n < total; n++) {
    const details = { ...WEBHOOK_EVENTS.agent_created.example, hostname: "x".repeat(10_000) };
    await happen(world, owner, "agent_created", `agt_${n}`, details);
    seen.push(...await take(world, reading, 1));
  }
  deq(seen.map(({ data }) => data.agent_id), Array.from({ length: total }, (_, n) => `agt_${n}`));
  // It is ended at 1 MiB, or at the second heartbeat without a read.
  await world.advance(60_000);
  const rest: Received[] = [];
  for (let event = await stalled.next(); event; event = await stalled.next()) rest.push(event);
  deq([rest.at(-1)!.event, rest.at(-1)!.data.name], ["end", "too_slow"]);
  ok(rest.length < 30, "what waited was given up");
  await reading.cut();
});

Deno.test("streams: an active reader catches up on any number of large events", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const total = 300;
  const details = { ...WEBHOOK_EVENTS.agent_created.example, hostname: "x".repeat(10_000) };
  const ids = Array.from({ length: total }, (_, n) => `agt_${n}`);
  for (const id of ids) await happen(world, owner, "agent_created", id, details);
  await world.app.log.flush();
  const query = `?types=agent_created&last_event_id=${placeIn(world, owner, 0)}`;
  const client = await StreamClient.open(world, owner.token, { query });
  const stalled = await StreamClient.open(world, owner.token, { query });
  eq((await client.next())!.data.recovered, true);
  const events = await take(world, client, total);
  deq(events.map(({ data }) => data.agent_id ?? data.name), ids);
  // A client that reads nothing is ended, although less than 1 MiB is unread.
  await world.advance(30_000);
  let last: Received | null = null;
  for (let event = await stalled.next(); event !== null; event = await stalled.next()) last = event;
  deq([last!.event, last!.data.name], ["end", "too_slow"]);
  eq(world.app.streams.size, 1);
  await client.cut();
});

Deno.test("streams: one organization gets at most half of all streams, over both of its spaces", async () => {
  await using world = await World.open();
  const [one, other] = [await world.signUp(), await world.signUp()];
  const streams = new Streams(world.app, 8);
  const sink: Sink = {
    send: () => {},
    bufferedBytes: 0,
    drained: () => Promise.resolve(),
    end: () => {},
  };
  const keys = await Promise.all(
    Array.from(
      { length: 5 },
      (_, n) => world.key(one, READ, { type: n % 2 === 0 ? "live" : "test" }),
    ),
  );
  const open = async (credential: string) =>
    await streams.open(
      await world.app.authenticator.authenticate(credential, "live"),
      {},
      null,
      sink,
    );
  const opened = [];
  for (const { value } of keys.slice(0, 4)) opened.push(await open(value));
  const refused = (error: unknown) => {
    const { code, message, details } = error as Fault;
    eq(code, "RATE_LIMIT_EXCEEDED");
    ok(/4 streams of one organization/.test(message));
    deq([details.of, details.raise], [{ type: "organization", id: one.org }, null]);
    return true;
  };
  for (const value of [keys[4]!.value, one.token]) await rejects(open(value), refused);
  for (let n = 0; n < 4; n++) await open(other.token);
  await rejects(open(other.token), { code: "UNAVAILABLE" });
  streams.leave(opened[0]!);
  await open(keys[4]!.value);
  streams.stop();
});
