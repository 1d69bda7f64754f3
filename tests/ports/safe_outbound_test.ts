import assert from "node:assert/strict";

import { safeOutbound, type SafeOutboundOptions } from "../../core/ports/outbound/safe_outbound.ts";
import { OutboundError, type OutboundRequest } from "../../core/ports/ports.ts";
import { assertFails } from "./fails.ts";
import { type HandClock, handClock } from "./hand_clock.ts";
import { reply, startReceiver } from "./receiver.ts";

/** The network port on a clock that stands still, closed at the end of the test. */
function port(options: Partial<SafeOutboundOptions> = {}) {
  const clock: HandClock = handClock();
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock, ...options });
  return { clock, outbound, [Symbol.dispose]: () => outbound.close() };
}

function post(url: string, more: Partial<OutboundRequest> = {}): OutboundRequest {
  return {
    organization: "org",
    method: "POST",
    url,
    headers: {},
    body: "{}",
    deadlineMs: 10_000,
    keepBytes: 4096,
    ...more,
  };
}

Deno.test("safeOutbound: sends the request as given and answers with status, headers and body", async () => {
  await using receiver = startReceiver((line) =>
    line.write(reply(201, "made", "X-One: 1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
  );
  using network = port();
  const response = await network.outbound.request(
    post(`http://localhost:${receiver.port}/in?a=b%20c`, {
      headers: { "X-Service-Event": "ping", "Content-Type": "application/json" },
      body: '{"é":1}',
    }),
  );
  assert.equal(response.status, 201);
  assert.equal(response.body, "made");
  assert.deepEqual([...response.bytes], [...new TextEncoder().encode("made")]);
  assert.equal(response.truncated, false);
  assert.equal(response.headers["x-one"], "1");
  assert.equal(response.headers["set-cookie"], "a=1, b=2");
  const [request] = receiver.heard;
  assert.match(request?.head ?? "", /^POST \/in\?a=b%20c HTTP\/1\.1\r\n/);
  assert.match(request?.head ?? "", new RegExp(`\r\nhost: localhost:${receiver.port}\r\n`, "i"));
  assert.match(request?.head ?? "", /\r\nX-Service-Event: ping\r\n/);
  assert.match(request?.head ?? "", /\r\naccept-encoding: identity\r\n/);
  assert.match(request?.head ?? "", /\r\ncontent-length: 8\r\n/);
  assert.equal(request?.body, '{"Ã©":1}');
  assert.equal(network.clock.pending(), 0);
});

Deno.test("safeOutbound: the headers of the connection cannot be set by the caller", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  using network = port();
  await network.outbound.request(
    post(`http://127.0.0.1:${receiver.port}/`, {
      headers: { Host: "evil.test", "Content-Length": "99", "transfer-encoding": "chunked" },
    }),
  );
  const head = receiver.heard[0]?.head ?? "";
  assert.doesNotMatch(head, /evil|: 99|chunked/);
  assert.match(head, /content-length: 2/i);
});

Deno.test("safeOutbound: a header that would split the request is refused, and nothing is dialled", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  using network = port();
  const splitting = [{ a: "1\r\nb: 2" }, { "a\r\nb": "1" }, { "a b": "1" }, { "": "1" }, {
    a: "é",
  }];
  for (const headers of splitting as Record<string, string>[]) {
    await assertFails(
      network.outbound.request(post(`http://127.0.0.1:${receiver.port}/`, { headers })),
      "http",
    );
  }
  assert.equal(receiver.connections(), 0);
  assert.equal(network.clock.pending(), 0);
});

Deno.test("safeOutbound: loopback is refused by name and by literal, and nothing is dialled", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  using network = port({ allowPrivateTargets: () => false });
  for (const host of ["127.0.0.1", "2130706433", "0x7f.1", "localhost", "[::ffff:127.0.0.1]"]) {
    const url = `http://${host}:${receiver.port}/`;
    await assertFails(network.outbound.request(post(url)), "refused_address");
  }
  assert.equal(receiver.connections(), 0);
});

Deno.test("safeOutbound: one forbidden address among public ones refuses the name", async () => {
  using network = port({
    allowPrivateTargets: () => false,
    resolve: () => Promise.resolve(["93.184.216.34", "2606:4700::1111", "10.0.0.7"]),
  });
  await assertFails(
    network.outbound.request(post("http://mixed.test/")),
    "refused_address",
    /mixed\.test resolves to 10\.0\.0\.7/,
  );
});

Deno.test("safeOutbound: a name is resolved once for each connection, so rebinding finds no second look-up", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  const answers = [["127.0.0.1"], ["192.0.2.1"]];
  const asked: string[] = [];
  using network = port({
    resolve: (name) => {
      asked.push(name);
      return Promise.resolve(answers.shift() ?? []);
    },
  });
  const url = `http://rebind.test:${receiver.port}/`;
  assert.equal((await network.outbound.request(post(url))).status, 200);
  assert.deepEqual(asked, ["rebind.test"]);
  assert.equal(receiver.connections(), 1);
});

Deno.test("safeOutbound: a name that turns private after it was public is refused", async () => {
  const answers = [["192.0.2.1"], ["127.0.0.1"]];
  using network = port({
    allowPrivateTargets: () => false,
    resolve: () => Promise.resolve(answers.shift() ?? []),
  });
  for (const address of ["192.0.2.1", "127.0.0.1"]) {
    await assertFails(
      network.outbound.request(post("http://rebind.test/")),
      "refused_address",
      new RegExp(`resolves to ${address}`),
    );
  }
});

Deno.test("safeOutbound: a check refuses a name that leads inside, and waits 2 s at most for one that does not answer", async () => {
  const names: Record<string, Promise<readonly string[]>> = {
    "inside.test": Promise.resolve(["192.168.0.1"]),
    "outside.test": Promise.resolve(["93.184.216.34"]),
    "unknown.test": Promise.reject(new Error("no such name")),
    "silent.test": new Promise(() => {}),
  };
  let allowed = false;
  using network = port({
    allowPrivateTargets: () => allowed,
    resolve: (name) => names[name]!,
  });
  const check = (url: string) => network.outbound.check(url, "org");
  await assertFails(
    check("https://inside.test/"),
    "refused_address",
    /inside\.test resolves to 192/,
  );
  await assertFails(check("https://127.0.0.1/"), "refused_address");
  await check("https://outside.test/");
  await check("https://unknown.test/");
  const silent = check("https://silent.test/");
  network.clock.advance(2_000);
  await silent;
  assert.equal(network.clock.pending(), 0);
  allowed = true;
  await check("https://inside.test/");
});

Deno.test("safeOutbound: says how long each phase took, and of a kept connection only the last", async () => {
  await using receiver = startReceiver((line) => {
    network.clock.advance(7);
    line.write(reply(200));
  });
  using network = port({
    resolve: () => {
      network.clock.advance(3);
      return Promise.resolve(["127.0.0.1"]);
    },
  });
  const send = () => network.outbound.request(post(`http://timed.test:${receiver.port}/`));
  const first = { resolve: 3, connect: 0, tls: null, first_byte: 7 };
  assert.deepEqual((await send()).timing, first);
  assert.deepEqual((await send()).timing, { ...first, resolve: null, connect: null });
});

Deno.test("safeOutbound: a socket opened while internal targets were allowed is never used once they are not", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  let allowed = true;
  using network = port({ allowPrivateTargets: () => allowed });
  const url = `http://localhost:${receiver.port}/`;
  await network.outbound.request(post(url));
  await network.outbound.request(post(url));
  assert.equal(receiver.connections(), 1);
  allowed = false;
  await assertFails(network.outbound.request(post(url)), "refused_address");
  assert.equal(receiver.heard.length, 2);
});

Deno.test("safeOutbound: tries the next address of a name when the first does not answer", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  using network = port({ resolve: () => Promise.resolve(["127.9.9.9", "127.0.0.1"]) });
  const response = await network.outbound.request(post(`http://two.test:${receiver.port}/`));
  assert.equal(response.status, 200);
});

Deno.test("safeOutbound: a redirect is an answer like any other and is not followed", async () => {
  await using receiver = startReceiver((line) =>
    line.write(reply(302, "", "location: /elsewhere\r\n"))
  );
  using network = port();
  const response = await network.outbound.request(post(`http://127.0.0.1:${receiver.port}/`));
  assert.equal(response.status, 302);
  assert.equal(response.headers["location"], "/elsewhere");
  assert.equal(receiver.heard.length, 1);
});

Deno.test("safeOutbound: a name without an address and a failing resolver are dns failures", async () => {
  using empty = port({ resolve: () => Promise.resolve([]) });
  await assertFails(empty.outbound.request(post("http://none.test/")), "dns", /no address/);
  using failing = port({ resolve: () => Promise.reject(new Error("SERVFAIL")) });
  await assertFails(
    failing.outbound.request(post("http://bad.test/")),
    "dns",
    /cannot be resolved/,
  );
  using lying = port({ resolve: () => Promise.resolve(["/var/run/docker.sock"]) });
  await assertFails(lying.outbound.request(post("http://odd.test/")), "refused_address");
});

Deno.test("safeOutbound: lookups of one name are shared, those of many names queue, and no organization gets all places", async () => {
  const asked: string[] = [];
  const [silent, full] = [
    Promise.withResolvers<readonly string[]>(),
    Promise.withResolvers<void>(),
  ];
  using network = port({
    resolve: (name) => {
      if (asked.push(name) === 32) full.resolve();
      return silent.promise;
    },
  });
  const hosts = Array.from({ length: 60 }, (_, index) => `h${index}.test`);
  const ask = (organization: string, host: string) =>
    assertFails(
      network.outbound.request(post(`http://${host}/`, { organization })),
      "dns",
      /no address/,
    );
  const waiting = [
    ...[...hosts.slice(0, 40), "h0.test", "h39.test"].map((host) => ask("org_many", host)),
    ...hosts.slice(40).map((host) => ask("org_other", host)),
  ];
  await full.promise;
  assert.deepEqual(asked, [...hosts.slice(0, 16), ...hosts.slice(40, 56)]);
  silent.resolve([]);
  await Promise.all(waiting);
  assert.deepEqual(asked.toSorted(), hosts.toSorted());
});

Deno.test("safeOutbound: names that do not resolve do not delay names that did", async () => {
  await using receiver = startReceiver((line) =>
    line.write(reply(200, "", "connection: close\r\n"))
  );
  const asked: string[] = [];
  const silent = Promise.withResolvers<readonly string[]>();
  using network = port({
    resolve: (name) => {
      asked.push(name);
      return name === "known.test" ? Promise.resolve(["127.0.0.1"]) : silent.promise;
    },
  });
  const known = () => network.outbound.request(post(`http://known.test:${receiver.port}/`));
  await known();
  const hanging = Array.from(
    { length: 100 },
    (_, index) => assertFails(network.outbound.request(post(`http://h${index}.test/`)), "timeout"),
  );
  assert.equal((await known()).status, 200);
  network.clock.advance(10_000);
  await Promise.all(hanging);
  assert.equal((await known()).status, 200);
  const late = network.outbound.request(post("http://late.test/", { deadlineMs: 1_000 }));
  await known();
  network.clock.advance(1_000);
  await assertFails(late, "timeout", /No connection within 1000 ms/);
  await known();
  silent.resolve([]);
  await known();
  assert.equal(asked.length, 6 + 16, "who left the line is not looked up");
});

Deno.test("safeOutbound: a refused connection is a connect failure", async () => {
  const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const { port: unused } = free.addr;
  free.close();
  using network = port();
  await assertFails(
    network.outbound.request(post(`http://127.0.0.1:${unused}/`)),
    "connect",
    /refused/,
  );
});

Deno.test("safeOutbound: a closed port refuses requests and ends those under way", async () => {
  await using receiver = startReceiver(() => {});
  using network = port();
  const url = `http://127.0.0.1:${receiver.port}/`;
  const waiting = assertFails(network.outbound.request(post(url)), "http");
  await receiver.untilHeard(1);
  network.outbound.close();
  await waiting;
  await assertFails(network.outbound.request(post(url)), "connect", /closed/);
});

Deno.test("safeOutbound: a closed port ends requests that waited in line for a socket", async () => {
  await using receiver = startReceiver(() => {});
  using network = port();
  const url = `http://127.0.0.1:${receiver.port}/`;
  const waiting = Array.from(
    { length: 70 },
    () => assert.rejects(network.outbound.request(post(url)), OutboundError),
  );
  await receiver.untilHeard(64);
  network.outbound.close();
  await Promise.all(waiting);
  assert.equal(network.clock.pending(), 0);
  assert.equal(receiver.connections(), 64);
});

Deno.test("safeOutbound: requests beyond the bound of those under way are refused, not queued", async () => {
  const silent = Promise.withResolvers<readonly string[]>();
  using network = port({ resolve: () => silent.promise });
  const waiting = Array.from(
    { length: 1024 },
    () => assertFails(network.outbound.request(post("http://slow.test/")), "dns"),
  );
  await assertFails(network.outbound.request(post("http://slow.test/")), "connect", /1024/);
  silent.resolve([]);
  await Promise.all(waiting);
  await assertFails(network.outbound.request(post("http://slow.test/")), "dns");
});

Deno.test("safeOutbound: idle sockets are bounded over all hosts", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  using network = port({ resolve: () => Promise.resolve(["127.0.0.1"]) });
  for (let host = 0; host < 260; host++) {
    await network.outbound.request(post(`http://h${host}.test:${receiver.port}/`));
  }
  await receiver.untilClosed(4);
  assert.equal(receiver.connections(), 260);
});

Deno.test("safeOutbound: a proxy of the environment is not used, since it would resolve names itself", async () => {
  await using receiver = startReceiver((line) => line.write(reply(200)));
  await using proxy = startReceiver((line) => line.write(reply(200)));
  const source = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
  const { success } = await new Deno.Command(Deno.execPath(), {
    args: [
      "eval",
      `import { safeOutbound } from ${source("../../core/ports/outbound/safe_outbound.ts")};
       import { handClock } from ${source("./hand_clock.ts")};
       const outbound = safeOutbound({ allowPrivateTargets: () => true, clock: handClock() });
       await outbound.request({ method: "GET", url: "http://127.0.0.1:${receiver.port}/",
         headers: {}, deadlineMs: 10000, keepBytes: 0 });
       outbound.close();`,
    ],
    env: { NODE_USE_ENV_PROXY: "1", HTTP_PROXY: `http://127.0.0.1:${proxy.port}`, NO_PROXY: "" },
    stderr: "null",
  }).output();
  assert.equal(success, true);
  assert.deepEqual([receiver.heard.length, proxy.heard.length], [1, 0]);
});
