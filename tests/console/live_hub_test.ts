import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { random } from "../support/random.ts";
import { Browser, type FakeSocket, type FakeTab, follows, sayOutput } from "./live_fixtures.ts";

Deno.test("live hub: ten tabs share one socket, and each hears what happens", () => {
  const browser = new Browser();
  const tabs = Array.from({ length: 10 }, () => browser.tab());
  browser.socket.begin();
  browser.socket.say("changed", null, { resource_type: "agent", resource_id: "agt_1" });
  browser.socket.say("notification", "log:1", { title: "Approve" });
  for (const tab of tabs) {
    deq(tab.news(), ["connecting", "live", "changed", "changed agt_1", "notification"]);
  }
  // A tab that comes later has to fetch what it shows once more.
  const late = browser.tab();
  deq(late.news(), ["live", "changed"]);
  const other = browser.tab("org/ada", "test");
  deq(browser.sockets.map(({ space }) => space), ["live", "test"]);
  other.tab.leave();
  eq(browser.socket.isClosed, true);
  for (const { tab } of [...tabs, late]) {
    eq(browser.sockets[0]!.isClosed, false);
    tab.leave();
  }
  eq(browser.sockets[0]!.isClosed, true);
});

Deno.test("live hub: a cut is shown after a second, and the stream resumes after its newest message", async () => {
  const browser = new Browser();
  const tab = browser.tab();
  browser.socket.begin();
  browser.socket.say("notification", "log:3");
  browser.socket.say("heartbeat", "log:5");
  tab.news();
  browser.socket.cut();
  await browser.advance(900);
  eq(browser.socket.lastId, "log:5");
  deq(tab.news(), []);
  await browser.advance(100);
  deq(tab.news(), ["lost"]);
  browser.socket.begin("log:5");
  deq(tab.news(), ["live", "changed"]);
  browser.socket.cut();
  await browser.advance(500);
  browser.socket.begin("log:5");
  await browser.advance(2_000);
  deq(tab.news(), ["changed"], "a short interruption is not shown");
});

Deno.test("live hub: after a cut of 20 s it is live again within 5 s, and a steady link retries at once", async () => {
  const browser = new Browser();
  const tab = browser.tab();
  browser.socket.begin();
  const started = browser.clock.now();
  let attempts = 1;
  browser.socket.cut();
  while (browser.clock.now() - started < 20_000) {
    await browser.advance(100);
    if (browser.sockets.length === attempts) continue;
    attempts = browser.sockets.length;
    browser.socket.cut();
  }
  ok(attempts > 5 && attempts < 15, `${attempts} attempts`);
  await browser.advance(5_000);
  eq(browser.sockets.length, attempts + 1);
  browser.socket.begin();
  eq(tab.news().at(-1), "changed");
  for (let n = 0; n < 10; n++) {
    browser.socket.say("heartbeat", "log:0");
    await browser.advance(1_000);
  }
  browser.socket.cut();
  await browser.advance(300);
  eq(browser.sockets.length, attempts + 2);
});

Deno.test("live hub: a silent link is asked for an answer, and given up without one", async () => {
  const browser = new Browser();
  browser.tab();
  browser.socket.begin();
  const asked = () => browser.socket.frames.filter(({ type }) => type === "ping").length;
  await browser.advance(5_000);
  eq(asked(), 1);
  browser.socket.say("pong");
  await browser.advance(5_000);
  eq(asked(), 2);
  await browser.advance(5_300);
  deq(browser.sockets.map(({ isClosed }) => isClosed), [true, false]);
  await browser.advance(10_500);
  eq(browser.sockets.length, 3, "a socket that never begins is given up too");
});

Deno.test("live hub: each reader of an output has its own position, and the last one ends it", () => {
  const browser = new Browser();
  const [one, two] = [browser.tab(), browser.tab()];
  one.follow("cmd_1");
  browser.socket.begin();
  deq(follows(browser.socket), ["cmd_1 from 0"]);
  browser.socket.say("status", null, { status: "running" }, "cmd_1");
  sayOutput(browser.socket, "cmd_1", 0, "grün");
  one.news();
  two.news();
  const inTheMiddle = two.follow("cmd_1", 3);
  const end = two.follow("cmd_1", 5);
  deq(follows(browser.socket), ["cmd_1 from 0", "cmd_1 from 3"]);
  // What was on its way before the second follow, and what it brings.
  sayOutput(browser.socket, "cmd_1", 5, "+");
  browser.socket.say("status", null, { status: "running" }, "cmd_1");
  sayOutput(browser.socket, "cmd_1", 2, "ün");
  sayOutput(browser.socket, "cmd_1", 5, "++");
  deq(one.news(), ["1 5:+", "1 status", "1 6:+"]);
  deq(two.news(), [
    "1 status",
    "2 status",
    "2 5:+",
    "1 status",
    "2 status",
    "1 2:ün",
    "1 5:++",
    "2 6:+",
  ]);
  two.unfollow(inTheMiddle);
  two.unfollow(end);
  eq(follows(browser.socket).length, 2);
  one.tab.leave();
  deq(follows(browser.socket).at(-1), "no cmd_1");
  sayOutput(browser.socket, "cmd_1", 7, "late");
  deq([one.news(), two.news()], [[], []]);
});

Deno.test("live hub: a refusal that says when to try again is tried again, others reach the reader", async () => {
  const browser = new Browser();
  const tab = browser.tab();
  browser.socket.begin();
  for (const id of ["cmd_1", "cmd_2", "cmd_3"]) tab.follow(id);
  tab.news();
  const busy = { code: "RATE_LIMIT_EXCEEDED", message: "", details: { retry_after: 2 } };
  browser.socket.say("refused", null, busy, "cmd_1");
  browser.socket.say("refused", null, { code: "NOT_FOUND", message: "" }, "cmd_2");
  browser.socket.say("end", null, { name: "interrupted", then: "resume" }, "cmd_3");
  deq(tab.news(), ["2 refused NOT_FOUND"]);
  await browser.advance(1_900);
  deq(follows(browser.socket).slice(3), ["cmd_3 from 0"]);
  await browser.advance(100);
  deq(follows(browser.socket).slice(4), ["cmd_1 from 0"]);
  const lost = { name: "rights_lost", then: "ask for rights", message: "" };
  browser.socket.say("end", null, lost, "cmd_1");
  deq(tab.news(), ["1 refused rights_lost"]);
  tab.unfollow(3);
  eq(follows(browser.socket).at(-1), "no cmd_3");
});

Deno.test("live hub: an ended session is said once, and a sign-in goes on where it ended", async () => {
  const browser = new Browser();
  const tab = browser.tab();
  browser.socket.begin("log:7");
  browser.socket.cut(4401);
  await browser.advance(60_000);
  eq(browser.sockets.length, 1);
  deq(tab.news(), ["connecting", "live", "changed", "lost", "signed_out"]);
  const again = { type: "attach", account: "org/ada", space: "live" } as const;
  tab.tab.receive(again);
  eq(browser.socket.lastId, "log:7");
  // A refused handshake does not say why.
  browser.signedOut = true;
  browser.socket.cut();
  await browser.advance(0);
  deq(tab.news(), ["connecting", "connecting", "lost", "signed_out"]);
  browser.signedOut = false;
  tab.tab.receive(again);
  browser.socket.begin();
  tab.news();
  const other = browser.tab("org/bob");
  deq(tab.news(), ["lost", "signed_out"], "all tabs have one cookie, now of another account");
  browser.socket.begin();
  deq(other.news(), ["connecting", "live", "changed"]);
  deq(browser.sockets.map(({ isClosed }) => isClosed), [true, true, true, false]);
});

Deno.test("live hub: readers lose and repeat no output, whatever is cut, joined and left", async () => {
  const dice = random(crypto.getRandomValues(new Uint32Array(1))[0]!);
  console.log(`live hub seed ${dice.seed}`);
  const text = Array.from({ length: 400 }, () => dice.pick(["a", "ü", "€", "😀"])).join("");
  const bytes = new TextEncoder().encode(text);
  const slice = (from: number, to: number) => new TextDecoder().decode(bytes.subarray(from, to));
  const starts = [...text].reduce(
    (all, one) => [...all, all.at(-1)! + new TextEncoder().encode(one).length],
    [0],
  );
  const browser = new Browser();
  browser.unit = dice.unit;
  const tabs = Array.from({ length: 3 }, () => browser.tab());
  const readers: { tab: FakeTab; key: number; from: number; hasLeft: boolean }[] = [];
  const begin = () => {
    const at = dice.pick(starts.slice(0, -50));
    const tab = dice.pick(tabs);
    readers.push({ tab, key: tab.follow("cmd_1", at), from: at, hasLeft: false });
  };
  // The relay's stream of the socket: the newest follow counts, and messages may wait on their way.
  let stream: { socket: FakeSocket; position: number; seen: number } | null = null;
  const onTheWay: (() => void)[] = [];
  const deliver = (most: number) => {
    for (const say of onTheWay.splice(0, most)) say();
  };
  const relay = () => {
    const { socket } = browser;
    if (stream?.socket !== socket) stream = { socket, position: -1, seen: 0 };
    for (; stream.seen < socket.frames.length; stream.seen++) {
      const { type, from } = socket.frames[stream.seen]!;
      if (type === "follow") stream.position = from;
      if (type === "unfollow") stream.position = -1;
    }
    const at = stream.position;
    if (at === -1) return;
    const ends = starts.filter((end) => end > at);
    if (ends.length === 0) {
      stream.position = -1;
      onTheWay.push(() => socket.say("result", null, { next_offset: bytes.length }, "cmd_1"));
      return;
    }
    const next = ends[Math.min(dice.below(20), ends.length - 1)]!;
    stream.position = next;
    onTheWay.push(() => sayOutput(socket, "cmd_1", at, slice(at, next)));
  };
  browser.socket.begin();
  begin();
  for (let step = 0; step < 2_000; step++) {
    if (dice.chance(0.02) && readers.length < 30) begin();
    const leaver = dice.pick(readers);
    if (dice.chance(0.01) && !leaver.hasLeft) {
      leaver.hasLeft = true;
      leaver.tab.unfollow(leaver.key);
    }
    if (dice.chance(0.02)) {
      browser.socket.cut();
      onTheWay.length = 0;
      while (browser.socket.isClosed) await browser.advance(300);
      browser.socket.begin();
    }
    relay();
    deliver(dice.below(4));
  }
  for (let step = 0; step < 500; step++) {
    relay();
    deliver(2);
  }
  for (const { tab, key, from, hasLeft } of readers) {
    let position = from, results = 0;
    for (const message of tab.told) {
      if (message.type !== "output" || message.key !== key) continue;
      const { message: about } = message;
      if (about.type === "result") results++;
      if (about.type !== "output") continue;
      deq([about.data.offset, about.data.data], [position, slice(position, about.next)]);
      position = about.next;
    }
    if (!hasLeft) deq([position, results], [bytes.length, 1]);
  }
});
