import assert from "node:assert/strict";

import { safeOutbound } from "../../core/ports/outbound/safe_outbound.ts";
import type { OutboundRequest } from "../../core/ports/ports.ts";
import { assertFails } from "./fails.ts";
import { handClock } from "./hand_clock.ts";
import { type Heard, type Line, type Receiver, reply, startReceiver } from "./receiver.ts";

/** As many as one organization has open to one host. */
const SOCKETS = 64;

/** A port, and how it sends a request that may be repeated to a receiver's path. */
function sender(receiver: Receiver) {
  const clock = handClock();
  const outbound = safeOutbound({ allowPrivateTargets: () => true, clock });
  const send = (path: string, more: Partial<OutboundRequest> = {}) =>
    outbound.request({
      organization: "org",
      method: "POST",
      url: `http://127.0.0.1:${receiver.port}${path}`,
      headers: {},
      body: "{}",
      repeatable: true,
      deadlineMs: 10_000,
      keepBytes: 4096,
      ...more,
    });
  return { clock, outbound, send, [Symbol.dispose]: () => outbound.close() };
}

/** Answers, but breaks off in place of the first answers to `/break`. */
function breaking(times: number, said = "") {
  let left = times;
  return async (line: Line, { path }: Heard) => {
    if (path !== "/break" || left-- <= 0) return await line.write(reply(200));
    if (said !== "") await line.write(said);
    line.close();
  };
}

const paths = ({ heard }: Receiver) => heard.map(({ path }) => path);

Deno.test("safeOutbound: repeats a repeatable request once when a reused socket closes without a response", async () => {
  await using receiver = startReceiver(breaking(1));
  using network = sender(receiver);
  await network.send("/");
  assert.equal((await network.send("/break")).status, 200);
  assert.deepEqual(paths(receiver), ["/", "/break", "/break"]);
  assert.equal(receiver.heard[1]!.head, receiver.heard[2]!.head);
  assert.equal(receiver.connections(), 2);
  assert.equal(network.clock.pending(), 0);
});

Deno.test("safeOutbound: does not send a repeatable request a third time", async () => {
  await using receiver = startReceiver(breaking(2));
  using network = sender(receiver);
  await network.send("/");
  await assertFails(network.send("/break"), "http", /reset|closed/);
  assert.deepEqual(paths(receiver), ["/", "/break", "/break"]);
});

Deno.test("safeOutbound: repeats nothing after the first byte, on a new socket, or unless repeatable", async () => {
  await using cut = startReceiver(breaking(1, "H"));
  await using fresh = startReceiver(breaking(1));
  await using once = startReceiver(breaking(1));
  for (
    const [receiver, opens, repeatable] of [[cut, 1, true], [fresh, 0, true], [
      once,
      1,
      false,
    ]] as const
  ) {
    using network = sender(receiver);
    if (opens > 0) await network.send("/");
    await assertFails(network.send("/break", { repeatable }), "http");
    assert.equal(receiver.heard.length, opens + 1);
  }
});

Deno.test("safeOutbound: a repeated request keeps its original deadline", async () => {
  const lines: Line[] = [];
  await using receiver = startReceiver((line, { path }) =>
    path === "/hang" ? lines.push(line) : line.write(reply(200))
  );
  using network = sender(receiver);
  await network.send("/");
  const failing = assertFails(network.send("/hang"), "timeout", /response head within 10000 ms/);
  await receiver.untilHeard(2);
  network.clock.advance(6_000);
  lines[0]!.close();
  await receiver.untilHeard(3);
  network.clock.advance(4_000);
  await failing;
  assert.equal(network.clock.pending(), 0);
});

Deno.test("safeOutbound: a repeated request waits for its socket like any other", async () => {
  const lines = new Map<string, Line>();
  await using receiver = startReceiver((line, { path }) =>
    lines.has(path) || path === "/" ? line.write(reply(200)) : lines.set(path, line)
  );
  using network = sender(receiver);
  await network.send("/");
  const repeated = network.send("/again");
  const held = Array.from({ length: SOCKETS }, (_, n) => network.send(`/held/${n}`));
  await receiver.untilHeard(SOCKETS + 1);
  lines.get("/again")!.close();
  await receiver.untilHeard(SOCKETS + 2);
  assert.equal(paths(receiver).at(-1), `/held/${SOCKETS - 1}`, "who came before it goes first");
  lines.get("/held/0")!.write(reply(200));
  assert.equal((await repeated).status, 200);
  for (const [path, line] of lines) {
    if (path.startsWith("/held/") && path !== "/held/0") line.write(reply(200));
  }
  for (const { status } of await Promise.all(held)) assert.equal(status, 200);
  assert.equal(receiver.connections(), SOCKETS + 1);
});

Deno.test("safeOutbound: a closed port does not dial again", async () => {
  await using receiver = startReceiver((line, { path }) =>
    path === "/hang" ? null : line.write(reply(200))
  );
  using network = sender(receiver);
  await network.send("/");
  const failing = assertFails(network.send("/hang"), "http", /closed/);
  await receiver.untilHeard(2);
  network.outbound.close();
  await failing;
  assert.equal(receiver.connections(), 1);
});
