import { setImmediate } from "node:timers";
import { strictEqual as eq } from "node:assert/strict";
import { mount } from "../../routes/http/mount.ts";
import { route } from "../../routes/call/route.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { World } from "../support/world.ts";

const LIMIT = 3;
const config = {
  ...NO_LIMITS,
  limits: { ...NO_LIMITS.limits, live: { ...NO_LIMITS.limits.live, max_concurrent: LIMIT } },
};

Deno.test("connections over real sockets: a client that disconnects at any moment frees its connection", async () => {
  await using world = await World.open({ config });
  const key = await world.key(await world.signUp(), ["agents:read", "agents:admin"]);
  const reached = Promise.withResolvers<void>(), gate = Promise.withResolvers<void>();
  const late = route({
    id: "x.late",
    method: "GET",
    path: "/x/late",
    summary: "a stream that begins when its client has gone",
    access: { signedIn: true },
    effect: "read",
    success: { status: 200, content: ["text/plain"] },
    faults: [],
    handle: async () => {
      reached.resolve();
      await gate.promise;
      return {
        type: "text/plain",
        body: (async function* () {
          yield "a line\n";
          await new Promise(() => {});
        })(),
      };
    },
  });
  const serve = mount(world.app, [...routes, late], upgrades);
  await using server = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen: () => {} }, serve);
  const { port } = server.addr;
  const dial = async (path: string, more = "") => {
    const socket = await Deno.connect({ port });
    const head = `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
      `Authorization: Bearer ${key.value}\r\n${more}\r\n`;
    await socket.write(new TextEncoder().encode(head));
    return socket;
  };
  const open = async () => {
    const of = { id: key.id, type: "live", limits: null } as const;
    return LIMIT - (await world.app.limiter.leftOfKey("max_concurrent", of)).remaining!;
  };
  const untilOpen = async (n: number) => {
    while (await open() !== n) await new Promise((resolve) => setImmediate(resolve));
  };
  const gone = await dial("/x/late");
  await reached.promise;
  eq(await open(), 1);
  gone.close();
  gate.resolve();
  await untilOpen(0);

  const events = await dial("/api/events");
  await untilOpen(1);
  const upgrade = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n" +
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
  const socket = await dial("/ws", upgrade);
  await untilOpen(2);
  const hasty = await dial("/ws", upgrade);
  hasty.close();
  await untilOpen(2);
  // A handshake that cannot succeed holds nothing.
  const half = await dial("/ws", "Connection: Upgrade\r\nUpgrade: websocket\r\n");
  await half.read(new Uint8Array(1024));
  eq(await open(), 2);
  // Nor does an agent's link.
  const agent = await dial("/ws", `${upgrade}Sec-WebSocket-Protocol: relay.agent.v1\r\n`);
  const head = new Uint8Array(12);
  await agent.read(head);
  eq(new TextDecoder().decode(head), "HTTP/1.1 101");
  eq(await open(), 2);
  agent.close();
  socket.close();
  await untilOpen(1);
  events.close();
  await untilOpen(0);
  half.close();
});

Deno.test("connections over real sockets: a client that leaves before the `/ws` upgrade frees its connection", async () => {
  await using world = await World.open({ config });
  const key = await world.key(await world.signUp(), ["agents:read"]);
  const { limiter } = world.app;
  const [admit, leave] = [limiter.admit.bind(limiter), limiter.leave.bind(limiter)];
  const reached = Promise.withResolvers<void>(), gate = Promise.withResolvers<void>();
  // As when a lease is being renewed: the connection is taken, and the answer is late.
  limiter.admit = async (...asked) => {
    const state = await admit(...asked);
    reached.resolve();
    await gate.promise;
    return state;
  };
  let left = 0;
  limiter.leave = (actor) => {
    left++;
    leave(actor);
  };
  const stop = new AbortController();
  const serve = mount(world.app, routes, upgrades);
  const asked = { port: 0, hostname: "127.0.0.1", onListen: () => {}, signal: stop.signal };
  const server = Deno.serve(asked, serve);
  const { port } = server.addr;
  const socket = await Deno.connect({ port });
  const head = `GET /ws HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n` +
    `Authorization: Bearer ${key.value}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
    "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
  await socket.write(new TextEncoder().encode(head));
  await reached.promise;
  socket.close();
  await new Promise((resolve) => setTimeout(resolve, 20));
  gate.resolve();
  await new Promise((resolve) => setImmediate(resolve));
  await world.advance(5_000);
  eq(left, 1);
  stop.abort();
  await server.finished;
});
