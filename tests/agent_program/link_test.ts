import assert from "node:assert/strict";
import {
  type LinkEnd,
  openLink,
  type Order,
  type Welcomed,
} from "../../core/cli/agent/link/link.ts";
import type { AgentHost, SocketEvents } from "../../core/cli/agent/interfaces.ts";
import { CLOSE_CODES } from "../../core/protocol/close_codes.ts";
import type { RelayFrame } from "../../core/protocol/protocol.ts";
import { openHandClock, runOf } from "./agent_support.ts";

const CHALLENGE: RelayFrame = { type: "challenge", nonce: "0123456789abcdef" };
const WELCOME: RelayFrame = {
  type: "welcome",
  agent_id: "agt_1",
  name: "box",
  heartbeat_seconds: 30,
  relay_version: "1",
  time_ms: 1,
  verdict_key: "A".repeat(43),
  signature: "b".repeat(86),
};

const runFrame = (signature: string): RelayFrame => ({
  type: "run",
  batch: 1,
  expires_at_ms: 1,
  commands: [runOf("c", "true")],
  signature,
});

/** A link on a hand-moved clock and a socket of tape, with the relay played by the test. */
function dial(
  welcomed: Welcomed | (() => never) = "accepted",
  hello = (challenge: string) => `hello ${challenge}`,
) {
  const clock = openHandClock();
  const sent: string[] = [];
  const closes: number[] = [];
  const reasons: string[] = [];
  const orders: Order[] = [];
  let events: SocketEvents | undefined;
  let heard = 0;
  const host: AgentHost = {
    clock,
    entropy: { unit: () => 0, bytes: (n) => new Uint8Array(n) },
    log: { info() {}, warn() {}, error() {} },
    machine: { version: "1", platform: "test", form: "source", hostname: "box" },
    tree: {} as AgentHost["tree"],
    files: {
      makeDir() {},
      read: () => null,
      write() {},
      openAppender: () => assert.fail("no file is opened"),
    },
    tracing: null,
    spawn: () => assert.fail("nothing is started"),
    dial(_url, _token, given) {
      events = given;
      return {
        bufferedAmount: 0,
        send: (text) => void sent.push(text),
        close(code, reason) {
          closes.push(code);
          reasons.push(reason);
        },
      };
    },
  };
  const link = openLink(host, { url: "http://relay", token: "t", stateDir: "/state" }, {
    hello,
    welcomed: () => typeof welcomed === "string" ? welcomed : welcomed(),
    ordered(order) {
      orders.push(order);
      return order.type === "run" && order.signature === "" ? "verdict_refused" : null;
    },
    heard: () => void heard++,
    health: () => "ok",
  });
  return {
    clock,
    sent,
    closes,
    reasons,
    orders,
    link,
    heard: () => heard,
    say: (...frames: RelayFrame[]) => {
      for (const frame of frames) events?.message(JSON.stringify(frame));
    },
    events: () => events ?? assert.fail("not dialled"),
  };
}

async function endOf(link: { ended: Promise<LinkEnd> }): Promise<string> {
  const { kind, why } = await link.ended;
  return `${kind}: ${why}`;
}

Deno.test("openLink: gives up a relay that sends no welcome within 15 s", async () => {
  const { clock, closes, link, say } = dial();
  say(CHALLENGE);
  clock.move(14_999);
  assert.deepEqual(closes, []);
  clock.move(1);
  assert.deepEqual(closes, [CLOSE_CODES.hello_timeout.code]);
  assert.equal(await endOf(link), "lost: no welcome");
});

Deno.test("openLink: gives up a link whose heartbeats get no answer", async () => {
  const { clock, closes, heard, link, sent, say } = dial();
  say(CHALLENGE, WELCOME);
  clock.move(30_000);
  assert.equal(heard(), 0);
  say({ type: "heartbeat_ack" });
  assert.equal(heard(), 1);
  clock.move(60_000);
  assert.deepEqual(closes, []);
  clock.move(30_000);
  assert.deepEqual(closes, [CLOSE_CODES.too_slow.code]);
  assert.equal(await endOf(link), "lost: the relay stopped answering");
  const beats = sent.filter((text) => text.includes("heartbeat")).length;
  clock.move(300_000);
  assert.equal(sent.filter((text) => text.includes("heartbeat")).length, beats);
});

Deno.test("openLink: gives up a link that dies before its first heartbeat", async () => {
  const { clock, closes, link, sent, say } = dial();
  say(CHALLENGE, WELCOME);
  clock.move(89_999);
  assert.deepEqual(closes, []);
  clock.move(1);
  assert.deepEqual(closes, [CLOSE_CODES.too_slow.code]);
  assert.equal(await endOf(link), "lost: the relay stopped answering");
  assert.equal(sent.filter((text) => text.includes("heartbeat")).length, 2);
});

Deno.test("openLink: frames out of order close with 4422 and are not carried out", async () => {
  const run = runFrame("x");
  for (
    const frames of [
      [run],
      [CHALLENGE, run],
      [WELCOME],
      [CHALLENGE, CHALLENGE],
      [CHALLENGE, WELCOME, WELCOME],
    ]
  ) {
    const { closes, orders, link, say } = dial();
    say(...frames);
    assert.deepEqual(closes, [CLOSE_CODES.unexpected_frame.code]);
    assert.equal((await link.ended).kind, "lost");
    say(run);
    assert.deepEqual(orders, []);
  }
});

Deno.test("openLink: binary, malformed and oversized frames close with their codes", async () => {
  for (
    const [text, name] of [
      [null, "malformed_frame"],
      ["{", "malformed_frame"],
      [`{"type":"run","command":"${"x".repeat(300_000)}"}`, "frame_too_large"],
    ] as const
  ) {
    const { closes, events, link } = dial();
    events().message(text);
    assert.deepEqual(closes, [CLOSE_CODES[name].code]);
    assert.equal((await link.ended).kind, "lost");
  }
});

const REFUSED = "the relay refused this agent";

Deno.test("openLink: every close code ends the link as the table says, with the relay's reason", async () => {
  for (const [name, { code, after }] of Object.entries(CLOSE_CODES)) {
    const { events, link, say } = dial();
    say(CHALLENGE, WELCOME, { type: "error", code: "BECAUSE", message: "of this" });
    events().closed({ code, reason: "bye" });
    assert.equal(
      await endOf(link),
      after === "stop"
        ? `refused: ${REFUSED}: ${name} (${code}) BECAUSE: of this; bye`
        : `lost: closed with ${code} BECAUSE: of this; bye`,
    );
  }
});

Deno.test("openLink: a handshake refused with 401 or 403 is final, any other is not", async () => {
  for (
    const [status, end] of [
      [401, `refused: ${REFUSED}: HTTP 401 MISSING_SCOPE: agents:admin`],
      [403, `refused: ${REFUSED}: HTTP 403 MISSING_SCOPE: agents:admin`],
      [404, "lost: HTTP 404"],
      [429, "lost: HTTP 429"],
      [503, "lost: HTTP 503"],
    ] as const
  ) {
    const { events, link } = dial();
    events().closed({ code: 0, reason: "MISSING_SCOPE: agents:admin", status });
    assert.equal(await endOf(link), end);
  }
});

Deno.test("openLink: a relay with another verdict key than the pinned one is refused for good", async () => {
  const { closes, link, say } = dial("another_key");
  say(CHALLENGE, WELCOME);
  assert.match(await endOf(link), /^refused: this agent refuses the relay: its verdict key/);
  assert.deepEqual(closes, [1000]);
});

Deno.test("openLink: leaves a relay that does not prove its key or sends no verdict, and dials again", async () => {
  const unproven = dial("unproven");
  unproven.say(CHALLENGE, WELCOME);
  const unsigned = dial();
  unsigned.say(CHALLENGE, WELCOME, runFrame("x"), runFrame(""), runFrame("y"));
  assert.equal(unsigned.orders.length, 2);
  for (const { closes, link } of [unproven, unsigned]) {
    assert.deepEqual(closes, [CLOSE_CODES.verdict_refused.code]);
    assert.equal((await link.ended).kind, "lost");
  }
});

Deno.test("openLink: a local failure ends the link without telling the relay why, and is dialled again", async () => {
  const fail = () => {
    throw new Error("/state/verdict-key: too many open files");
  };
  for (const link of [dial("accepted", fail), dial(fail)]) {
    link.say(CHALLENGE, WELCOME);
    assert.deepEqual(await link.link.ended, {
      kind: "lost",
      why: "/state/verdict-key: too many open files",
      upMs: 0,
    });
    assert.deepEqual(link.closes, [CLOSE_CODES.normal.code]);
    assert.deepEqual(link.reasons, ["the agent cannot continue"]);
    link.say(CHALLENGE);
  }
});

Deno.test("openLink: leaving does not wait for a dead peer longer than a second", async () => {
  const { clock, closes, link, say } = dial();
  say(CHALLENGE, WELCOME);
  const left = link.leave("stopping");
  assert.deepEqual(closes, [1000]);
  clock.move(1_000);
  await left;
});

Deno.test("openLink: the relay's reason is one line without control characters", async () => {
  const trick = "\x1b[2J\nall is well\u202e\x9b1m";
  const { events, link, say } = dial();
  say(CHALLENGE, WELCOME, { type: "error", code: "BECAUSE", message: trick });
  events().closed({ code: 4401, reason: trick });
  const other = dial();
  other.events().closed({ code: 0, reason: trick, status: 401 });
  for (const end of [await endOf(link), await endOf(other.link)]) {
    assert.match(end, /all is well/);
    assert.doesNotMatch(end, /[\p{Cc}\p{Cf}]/u);
  }
});
