import { setImmediate } from "node:timers";
import { match, strictEqual as eq } from "node:assert/strict";
import { LINGER_MS, STALL_MS } from "../../routes/http/arriving.ts";
import { OPEN_BODY_BYTES_MAX } from "../../routes/http/open_body.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { World } from "../support/world.ts";

/** A raw connection, which shows what the server does with it. */
class Raw implements Disposable {
  private constructor(private readonly socket: Deno.TcpConn) {}

  static async post(port: number, path: string, header: string): Promise<Raw> {
    const raw = new Raw(await Deno.connect({ hostname: "127.0.0.1", port }));
    const fixed = ["Host: 127.0.0.1", "Content-Type: application/json"];
    await raw.send([`POST ${path} HTTP/1.1`, ...fixed, header, "", ""].join("\r\n"));
    return raw;
  }

  async send(text: string): Promise<void> {
    await this.socket.write(new TextEncoder().encode(text));
  }

  /** What comes until it fits; where the connection ends before, `<closed>` stands at the end. */
  async readUntil(end: RegExp): Promise<string> {
    const buffer = new Uint8Array(4096);
    let text = "";
    while (!end.test(text)) {
      const n = await this.socket.read(buffer);
      if (n === null) return `${text}<closed>`;
      text += new TextDecoder().decode(buffer.subarray(0, n));
    }
    return text;
  }

  [Symbol.dispose](): void {
    this.socket.close();
  }
}

const LENGTH = "Content-Length: 4";
const CHUNKED = "Transfer-Encoding: chunked";
/** Bodies that come in pieces; whole, they lack every field. */
const WAYS = [
  { path: "/api/v1/login", header: LENGTH, pieces: ["{", " ", " ", "}"] },
  {
    path: "/api/v1/login",
    header: CHUNKED,
    pieces: ["1\r\n{\r\n", "1\r\n \r\n", "1\r\n}\r\n", "0\r\n\r\n"],
  },
  { path: "/mcp", header: LENGTH, pieces: ["{", " ", " ", "}"] },
];

const serving = (world: World) =>
  Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    (request) => world.send(request),
  );

/** Resolves when the server has begun to wait for pieces of a body this often, at the instant that it is. */
function watchWaits(world: World): (times: number) => Promise<void> {
  const begun = new Map<number, number>();
  const { clock } = world;
  const after = clock.after.bind(clock);
  clock.after = (ms, task) => {
    if (ms === STALL_MS) begun.set(clock.nowMs, (begun.get(clock.nowMs) ?? 0) + 1);
    return after(ms, task);
  };
  return async (times) => {
    while ((begun.get(clock.nowMs) ?? 0) < times) {
      await new Promise((resolve) => setImmediate(resolve));
    }
  };
}

for (const { path, header, pieces } of WAYS) {
  const what = `${path} with ${header.split(":")[0]}`;

  Deno.test(`held bodies: ${what}: 408 after 30 s without a byte, and the silent client's connection is closed`, async () => {
    await using world = await World.open();
    const waiting = watchWaits(world);
    await using server = serving(world);
    using raw = await Raw.post(server.addr.port, path, header);
    await waiting(1);
    await raw.send(pieces[0]!);
    await waiting(2);
    world.clock.advance(STALL_MS);
    const answer = await raw.readUntil(/}}/);
    match(answer, /^HTTP\/1\.1 408 Request Timeout\r\n/);
    match(answer, /^connection: close\r$/im);
    match(answer, /^x-request-id: /im);
    match(answer, /"code":"REQUEST_TIMEOUT".*30 s/);
    world.clock.advance(LINGER_MS);
    eq(await raw.readUntil(/HTTP/), "<closed>");
  });

  Deno.test(`held bodies: ${what}: a slow body is read to its end while each byte comes within 30 s`, async () => {
    await using world = await World.open();
    const waiting = watchWaits(world);
    await using server = serving(world);
    using raw = await Raw.post(server.addr.port, path, header);
    for (const piece of pieces) {
      await waiting(1);
      world.clock.advance(STALL_MS - 1);
      await raw.send(piece);
    }
    match(await raw.readUntil(/}/), /^HTTP\/1\.1 400 /);
  });
}

Deno.test("held bodies: a client that sends no byte of its body is answered 408 and its connection closed", async () => {
  await using world = await World.open();
  const waiting = watchWaits(world);
  await using server = serving(world);
  using raw = await Raw.post(server.addr.port, "/api/v1/login", LENGTH);
  await waiting(1);
  world.clock.advance(STALL_MS);
  match(await raw.readUntil(/}}/), / 408 /);
  world.clock.advance(LINGER_MS);
  eq(await raw.readUntil(/HTTP/), "<closed>");
});

Deno.test("held bodies: a client that leaves in the middle of its body leaves no connection behind", async () => {
  await using world = await World.open();
  const waiting = watchWaits(world);
  const server = serving(world);
  const raw = await Raw.post(server.addr.port, "/api/v1/login", LENGTH);
  await waiting(1);
  await raw.send("{");
  await waiting(2);
  raw[Symbol.dispose]();
  await server.shutdown();
});

Deno.test("held bodies: one over its bound is refused while it arrives, and the refusal can be read", async () => {
  await using world = await World.open();
  const waiting = watchWaits(world);
  await using server = serving(world);
  using raw = await Raw.post(server.addr.port, "/api/v1/login", CHUNKED);
  await waiting(1);
  const size = OPEN_BODY_BYTES_MAX + 1;
  await raw.send(`${size.toString(16)}\r\n${" ".repeat(size)}\r\n`);
  match(await raw.readUntil(/}}/), / 413 /);
});

Deno.test("held bodies: a client that leaves after the 408 leaves no connection behind", async () => {
  await using world = await World.open();
  const waiting = watchWaits(world);
  const server = serving(world);
  const raw = await Raw.post(server.addr.port, "/api/v1/login", LENGTH);
  await waiting(1);
  world.clock.advance(STALL_MS);
  match(await raw.readUntil(/}}/), / 408 /);
  raw[Symbol.dispose]();
  await server.shutdown();
});

Deno.test("held bodies: the 408 gives the key's connection back", async () => {
  const limits = { ...NO_LIMITS.limits, live: { ...NO_LIMITS.limits.live, max_concurrent: 1 } };
  await using world = await World.open({ config: { ...NO_LIMITS, limits } });
  const key = await world.key(await world.signUp(), ["agents:write"]);
  const waiting = watchWaits(world);
  await using server = serving(world);
  const header = `${LENGTH}\r\nAuthorization: Bearer ${key.value}`;
  using raw = await Raw.post(server.addr.port, "/api/v1/agents/agt_1/commands", header);
  await waiting(1);
  const read = () => world.call("GET", "/api/v1/agents/agt_1", { as: key.value });
  eq((await read()).status, 429);
  world.clock.advance(STALL_MS);
  match(await raw.readUntil(/}}/), / 408 /);
  eq((await read()).status, 403);
});
