import assert from "node:assert/strict";

import { safeOutbound, type SafeOutboundOptions } from "../../core/ports/outbound/safe_outbound.ts";
import type { OutboundRequest } from "../../core/ports/ports.ts";
import { assertFails } from "./fails.ts";
import { type HandClock, handClock } from "./hand_clock.ts";
import { reply, startReceiver } from "./receiver.ts";

const fixture = (name: string) =>
  Deno.readTextFileSync(new URL(`../fixtures/tls/${name}`, import.meta.url));
const tls = { cert: fixture("localhost.pem"), key: fixture("localhost.key") };
const authority = fixture("authority.pem");

function port(options: Partial<SafeOutboundOptions> = {}) {
  const clock: HandClock = handClock();
  const outbound = safeOutbound({
    allowPrivateTargets: () => true,
    clock,
    trustedRoots: [authority],
    resolve: () => Promise.resolve(["127.0.0.1"]),
    ...options,
  });
  return { clock, outbound, [Symbol.dispose]: () => outbound.close() };
}

function post(url: string): OutboundRequest {
  return {
    organization: "org",
    method: "POST",
    url,
    headers: {},
    body: "{}",
    deadlineMs: 10_000,
    keepBytes: 4096,
  };
}

Deno.test("safeOutbound over TLS: the name of the URL is checked, and sockets are kept", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200, "secure")), { tls });
  using network = port();
  for (let round = 0; round < 3; round++) {
    const response = await network.outbound.request(post(`https://localhost:${receiver.port}/`));
    assert.equal(response.body, "secure");
  }
  assert.equal(receiver.connections(), 1);
});

Deno.test("safeOutbound over TLS: an address in the certificate is accepted for a literal", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)), { tls });
  using network = port();
  const response = await network.outbound.request(post(`https://127.0.0.1:${receiver.port}/`));
  assert.equal(response.status, 200);
});

Deno.test("safeOutbound over TLS: a certificate for another name is refused, and nothing is sent", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)), { tls });
  using network = port();
  await assertFails(
    network.outbound.request(post(`https://other.test:${receiver.port}/`)),
    "tls",
    /TLS handshake failed/,
  );
  assert.equal(receiver.heard.length, 0);
});

Deno.test("safeOutbound over TLS: an unknown authority is refused, and nothing is sent", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)), { tls });
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock: handClock() });
  await assertFails(
    outbound.request(post(`https://localhost:${receiver.port}/`)),
    "tls",
    /TLS handshake failed/,
  );
  assert.equal(receiver.heard.length, 0);
  outbound.close();
});

Deno.test("safeOutbound over TLS: a receiver without TLS is a tls failure", async () => {
  await using receiver = startReceiver(() => {}, {
    onConnect: async (line) => {
      await line.readSome();
      await line.write(reply(200));
    },
  });
  using network = port();
  await assertFails(
    network.outbound.request(post(`https://localhost:${receiver.port}/`)),
    "tls",
    /TLS handshake failed/,
  );
});

Deno.test("safeOutbound over TLS: a handshake that never ends is cut at the deadline", async () => {
  const greeted = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => {}, {
    onConnect: async (line) => {
      await line.readSome();
      greeted.resolve();
    },
  });
  using network = port();
  const waiting = assertFails(
    network.outbound.request(post(`https://localhost:${receiver.port}/`)),
    "timeout",
    /No TLS handshake within 10000 ms/,
  );
  await greeted.promise;
  network.clock.advance(10_000);
  await waiting;
});
