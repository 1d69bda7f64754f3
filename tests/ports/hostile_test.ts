import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";

import { safeOutbound } from "../../core/ports/outbound/safe_outbound.ts";
import type { Clock, OutboundRequest } from "../../core/ports/ports.ts";
import { assertFails } from "./fails.ts";
import { handClock, realClock } from "./hand_clock.ts";
import { reply, startReceiver } from "./receiver.ts";

const KEEP_BYTES = 4096;

function port(clock: Clock = handClock()) {
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock });
  return { outbound, [Symbol.dispose]: () => outbound.close() };
}

function post(receiver: { port: number }, more: Partial<OutboundRequest> = {}): OutboundRequest {
  return {
    organization: "org",
    method: "POST",
    url: `http://127.0.0.1:${receiver.port}/`,
    headers: {},
    body: "{}",
    deadlineMs: 10_000,
    keepBytes: KEEP_BYTES,
    ...more,
  };
}

Deno.test("hostile receiver: silence after accepting ends exactly at the deadline", async () => {
  await using receiver = startReceiver(() => {});
  const clock = handClock();
  using network = port(clock);
  let ended = false;
  const waiting = assertFails(
    network.outbound.request(post(receiver)).finally(() => ended = true),
    "timeout",
    /No response head within 10000 ms/,
  );
  await receiver.untilHeard(1);
  clock.advance(9_999);
  await new Promise(setImmediate);
  assert.equal(ended, false);
  clock.advance(1);
  await waiting;
  assert.equal(clock.pending(), 0);
});

Deno.test("hostile receiver: a head that never ends is cut at the deadline", async () => {
  await using receiver = startReceiver((line) => line.write("HTTP/1.1 200 OK\r\nx-slow: "));
  const clock = handClock();
  using network = port(clock);
  const waiting = assertFails(network.outbound.request(post(receiver)), "timeout", /head/);
  await receiver.untilHeard(1);
  clock.advance(10_000);
  await waiting;
});

Deno.test("hostile resolver: an answer after the deadline is not dialled", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  const clock = handClock();
  const asked = Promise.withResolvers<void>();
  const answer = Promise.withResolvers<readonly string[]>();
  const outbound = safeOutbound({
    allowPrivateTargets: () => true,
    clock,
    resolve: () => (asked.resolve(), answer.promise),
  });
  const url = `http://late.test:${receiver.port}/`;
  const waiting = assertFails(
    outbound.request(post(receiver, { url })),
    "timeout",
    /No connection within/,
  );
  await asked.promise;
  clock.advance(10_000);
  await waiting;
  answer.resolve(["127.0.0.1"]);
  const fresh = await outbound.request(post(receiver, { url }));
  assert.equal(fresh.status, 200);
  assert.equal(receiver.connections(), 1);
  outbound.close();
});

Deno.test("hostile receiver: requests that waited in line for a socket are never sent after their deadline", async () => {
  await using receiver = startReceiver((line, { path }) =>
    path === "/hang" ? null : line.write(reply(200))
  );
  const clock = handClock();
  using network = port(clock);
  const hang = post(receiver, { url: `http://127.0.0.1:${receiver.port}/hang` });
  const waiting = Array.from(
    { length: 100 },
    () => assertFails(network.outbound.request(hang), "timeout", /within/),
  );
  await receiver.untilHeard(64);
  clock.advance(10_000);
  await Promise.all(waiting);
  assert.equal((await network.outbound.request(post(receiver))).status, 200);
  assert.equal(receiver.heard.filter(({ path }) => path === "/hang").length, 64);
});

Deno.test("hostile receiver: requests that hang for one organization leave sockets for others, and organizations share none", async () => {
  await using receiver = startReceiver((line, { path }) =>
    path === "/hang" ? null : line.write(reply(200))
  );
  const clock = handClock();
  using network = port(clock);
  const send = (organization: string, path = "/") =>
    network.outbound.request(
      post(receiver, { organization, url: `http://127.0.0.1:${receiver.port}${path}` }),
    );
  const waiting = Array.from(
    { length: 100 },
    () => assertFails(send("org_slow", "/hang"), "timeout", /within/),
  );
  await receiver.untilHeard(64);
  assert.equal((await send("org_other")).status, 200);
  assert.equal((await send("org_other")).status, 200);
  assert.equal(receiver.connections(), 65, "its own socket is kept for it");
  assert.equal((await send("org_third")).status, 200);
  assert.equal(receiver.connections(), 66, "and for nobody else");
  clock.advance(10_000);
  await Promise.all(waiting);
});

Deno.test("hostile receiver: a request on a kept socket is not sent again when it times out", async () => {
  await using receiver = startReceiver((line, { path }) =>
    path === "/hang" ? null : line.write(reply(200))
  );
  const clock = handClock();
  using network = port(clock);
  await network.outbound.request(post(receiver));
  const waiting = assertFails(
    network.outbound.request(post(receiver, { url: `http://127.0.0.1:${receiver.port}/hang` })),
    "timeout",
    /response head/,
  );
  await receiver.untilHeard(2);
  assert.equal(receiver.connections(), 1);
  clock.advance(10_000);
  await waiting;
  await network.outbound.request(post(receiver));
  assert.deepEqual(receiver.heard.map(({ path }) => path), ["/", "/hang", "/"]);
});

Deno.test("hostile receiver: a request on a kept socket that breaks is not sent again", async () => {
  await using receiver = startReceiver((line, { path }) =>
    path === "/break" ? line.close() : line.write(reply(200))
  );
  using network = port();
  await network.outbound.request(post(receiver));
  await assertFails(
    network.outbound.request(post(receiver, { url: `http://127.0.0.1:${receiver.port}/break` })),
    "http",
    /reset|closed/,
  );
  await network.outbound.request(post(receiver));
  assert.deepEqual(receiver.heard.map(({ path }) => path), ["/", "/break", "/"]);
});

Deno.test("hostile receiver: a socket that it says it closes sooner than we do is not kept", async () => {
  await using receiver = startReceiver((line, { path }) =>
    line.write(reply(200, "", `keep-alive: timeout=${path.slice(1)}\r\n`))
  );
  using network = port();
  const used: number[] = [];
  for (const seconds of ["60", "5, max=9", "1, max=9", "0", "4", "x", "x"]) {
    const url = `http://127.0.0.1:${receiver.port}/${encodeURI(seconds)}`;
    await network.outbound.request(post(receiver, { url }));
    used.push(receiver.connections());
  }
  assert.deepEqual(used, [1, 1, 1, 2, 3, 4, 4]);
});

Deno.test("hostile receiver: a body of 1 GiB takes only the memory of its kept part, and the socket is closed", async () => {
  const cut = Promise.withResolvers<void>();
  let writtenBytes = 0;
  await using receiver = startReceiver(async (line) => {
    await line.write("HTTP/1.1 200 OK\r\ncontent-length: 1073741824\r\n\r\n");
    const block = "x".repeat(65_536);
    while (await line.write(block)) writtenBytes += block.length;
    cut.resolve();
  });
  using network = port();
  const response = await network.outbound.request(post(receiver));
  assert.equal(response.status, 200);
  assert.equal(response.truncated, true);
  assert.equal(response.body, "x".repeat(KEEP_BYTES));
  await cut.promise;
  assert.ok(writtenBytes < 64 * 1024 * 1024, `${writtenBytes} bytes were taken`);
});

Deno.test("hostile receiver: an endless chunked body takes only the memory of its kept part", async () => {
  const cut = Promise.withResolvers<void>();
  await using receiver = startReceiver(async (line) => {
    await line.write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    while (await line.write("5\r\nhello\r\n".repeat(1000))) continue;
    cut.resolve();
  });
  using network = port();
  const response = await network.outbound.request(post(receiver));
  assert.equal(response.truncated, true);
  assert.equal(response.bytes.length, KEEP_BYTES);
  await cut.promise;
});

Deno.test("hostile receiver: a body of exactly the kept length is whole, and one byte more is cut", async () => {
  await using receiver = startReceiver((line, { path }) =>
    line.write(reply(200, "y".repeat(Number(path.slice(1)))))
  );
  using network = port();
  for (const [size, truncated] of [[KEEP_BYTES, false], [KEEP_BYTES + 1, true], [0, false]]) {
    const url = `http://127.0.0.1:${receiver.port}/${size}`;
    const response = await network.outbound.request(post(receiver, { url }));
    assert.equal(response.truncated, truncated, String(size));
    assert.equal(response.bytes.length, Math.min(Number(size), KEEP_BYTES));
  }
});

Deno.test("hostile receiver: a compressed body is not decoded", async () => {
  const bomb = gzipSync("0".repeat(10_000_000));
  const listener = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(new Uint8Array(bomb), { headers: { "content-encoding": "gzip" } }),
  );
  using network = port();
  const response = await network.outbound.request(
    post({ port: listener.addr.port }, { keepBytes: 1_000_000 }),
  );
  assert.equal(response.headers["content-encoding"], "gzip");
  assert.deepEqual(response.bytes, new Uint8Array(bomb));
  network.outbound.close();
  await listener.shutdown();
});

Deno.test("hostile receiver: a body of one byte at a time is cut by the same deadline", async () => {
  const cut = Promise.withResolvers<void>();
  await using receiver = startReceiver(async (line) => {
    await line.write("HTTP/1.1 202 OK\r\ncontent-length: 1000000\r\n\r\n");
    while (await line.write("z")) await realClock.sleep(10);
    cut.resolve();
  });
  using network = port(realClock);
  const response = await network.outbound.request(post(receiver, { deadlineMs: 1000 }));
  assert.equal(response.status, 202);
  assert.equal(response.truncated, true);
  assert.match(response.body, /^z+$/);
  await cut.promise;
});

Deno.test("hostile receiver: an interrupted body keeps the received part", async () => {
  await using receiver = startReceiver(async (line) => {
    await line.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf");
    line.close();
  });
  using network = port();
  const response = await network.outbound.request(post(receiver));
  assert.equal(response.status, 200);
  assert.equal(response.body, "half");
  assert.equal(response.truncated, true);
});

Deno.test("hostile receiver: a character cut in two is dropped", async () => {
  await using receiver = startReceiver((line) => line.write(`HTTP/1.1 200 OK\r\n\r\naé`));
  using network = port();
  const response = await network.outbound.request(post(receiver, { keepBytes: 2 }));
  assert.equal(response.body, "a");
  assert.equal(response.truncated, true);
});

Deno.test("hostile receiver: an answer without reading a large request frees the socket", async () => {
  const answered = Promise.withResolvers<void>();
  const cut = Promise.withResolvers<void>();
  await using receiver = startReceiver(() => {}, {
    onConnect: async (line) => {
      await line.write(reply(200, "early"));
      await answered.promise;
      while (await line.write(" ")) await realClock.sleep(1);
      cut.resolve();
    },
  });
  using network = port();
  const response = await network.outbound.request(
    post(receiver, { body: new Uint8Array(32 * 1024 * 1024) }),
  );
  assert.equal(response.body, "early");
  answered.resolve();
  await cut.promise;
});

Deno.test("hostile receiver: headers without an end are refused before they fill memory", async () => {
  const cut = Promise.withResolvers<void>();
  let lines = 0;
  await using receiver = startReceiver(async (line) => {
    await line.write("HTTP/1.1 200 OK\r\n");
    while (await line.write(`x-${lines++}: ${"a".repeat(1000)}\r\n`)) continue;
    cut.resolve();
  });
  using network = port();
  await assertFails(network.outbound.request(post(receiver)), "http", /headers are too large/);
  await cut.promise;
});

Deno.test("hostile receiver: informational responses do not count as the response", async () => {
  await using receiver = startReceiver((line) =>
    line.write("HTTP/1.1 103 Early\r\nlink: a\r\n\r\n".repeat(500) + reply(204))
  );
  using network = port();
  assert.equal((await network.outbound.request(post(receiver))).status, 204);
});

/** What a receiver may write instead of a response, or with it. */
const BROKEN: Readonly<Record<string, string>> = {
  "an empty response": "",
  garbage: "hello, this is no HTTP\r\n\r\n",
  "a switch of protocols": "HTTP/1.1 101 S\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
  "a truncated head": "HTTP/1.1 200 OK\r\ncontent-le",
  "two lengths": "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab",
  "a length that is not a number": "HTTP/1.1 200 OK\r\ncontent-length: ten\r\n\r\nab",
};

for (const [name, text] of Object.entries(BROKEN)) {
  Deno.test(`hostile receiver: ${name} is an http failure`, async () => {
    await using receiver = startReceiver(async (line) => {
      await line.write(text);
      line.close();
    });
    using network = port();
    await assertFails(network.outbound.request(post(receiver)), "http", /./);
  });
}

Deno.test("hostile receiver: a reset is an http failure", async () => {
  await using receiver = startReceiver(() => {}, {
    onConnect: async (line) => {
      await line.readSome();
      line.close();
    },
  });
  using network = port();
  const body = new Uint8Array(8 * 1024 * 1024);
  await assertFails(network.outbound.request(post(receiver, { body })), "http", /./);
});

Deno.test("hostile receiver: a second response on one socket is discarded", async () => {
  await using receiver = startReceiver((line, { path }) =>
    line.write(path === "/double" ? reply(200, "own") + reply(200, "foreign") : reply(200, "own"))
  );
  using network = port();
  for (const path of ["/double", "/next", "/double", "/next"]) {
    const url = `http://127.0.0.1:${receiver.port}${path}`;
    assert.equal((await network.outbound.request(post(receiver, { url }))).body, "own");
  }
});

Deno.test("hostile receiver: a socket closed while idle is not used again", async () => {
  await using receiver = startReceiver(async (line) => {
    await line.write(reply(200));
    await line.end();
  });
  using network = port();
  for (let round = 1; round <= 5; round++) {
    assert.equal((await network.outbound.request(post(receiver))).status, 200);
    assert.equal(receiver.connections(), round);
    await receiver.untilClosed(round);
  }
});
