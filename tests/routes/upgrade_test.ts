import { ok, strictEqual as eq } from "node:assert/strict";
import { handshake } from "../clients/handshake.ts";
import { World } from "../support/world.ts";

const LIMITS = { live: { requests_per_minute: 7 } };

/** The head of a response to a handshake, as it came over TCP. */
async function answerTo(port: number, key: string, protocol: string): Promise<string> {
  using socket = await Deno.connect({ hostname: "127.0.0.1", port });
  await socket.write(new TextEncoder().encode(handshake(key, protocol)));
  const buffer = new Uint8Array(4096);
  let text = "";
  while (!text.includes("\r\n\r\n")) {
    const n = await socket.read(buffer);
    if (n === null) break;
    text += new TextDecoder().decode(buffer.subarray(0, n));
  }
  return text.split("\r\n\r\n")[0]!.toLowerCase();
}

Deno.test("upgrade: a 101 carries the request's id and its limit", async () => {
  await using world = await World.open({ config: { limits: LIMITS } });
  const owner = await world.signUp();
  const reader = await world.key(owner, ["agents:read"]);
  const agent = await world.key(owner, ["agents:admin"]);
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    (request) => world.send(request),
  );
  const { port } = server.addr;
  for (
    const [key, protocol, limit] of [
      [reader.value, "", 7],
      [agent.value, "relay.agent.v1", 2_147_483_647],
    ] as const
  ) {
    const head = await answerTo(port, key, protocol);
    ok(head.startsWith("http/1.1 101 "), head);
    ok(/^x-request-id: [0-9a-f-]{36}$/m.test(head), head);
    eq(/^x-ratelimit-limit: (\d+)/m.exec(head)?.[1], `${limit}`);
    ok(/^x-ratelimit-remaining: \d+/m.test(head) && /^x-ratelimit-reset: \d+/m.test(head), head);
  }
  world.app.streams.stop();
  await server.shutdown();
});
