import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { Inbox, stageMessage } from "../../kv/instances/inbox.ts";
import { Presence } from "../../kv/instances/presence.ts";
import type { Mutation } from "../../kv/store/change.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";
import { committing, dump, shared } from "../support/kv.ts";
import { quietKv } from "../support/quiet_kv.ts";
import { World } from "../support/world.ts";

/** A process on a shared store, with a clock of its own. `hang` makes its commits wait for what it returns. */
async function processOn(engine: Deno.Kv, id: string, clock = new ManualClock()) {
  let hang: Promise<void> = Promise.resolve();
  const { kv, quiet } = quietKv(shared(engine));
  const waiting = committing(kv, async (commit) => {
    await hang;
    return await commit();
  });
  const store = new Store(waiting, { clock, sole: false, hasQueue: false });
  const reaped: string[] = [], errors: unknown[] = [];
  const seen = { isolated: 0, reaps: true };
  const presence = new Presence(store, id, {
    isolated: () => seen.isolated++,
    reap: (dead) => {
      reaped.push(dead);
      return seen.reaps ? Promise.resolve() : Promise.reject(new Error("not now"));
    },
  }, (error) => errors.push(error));
  await presence.start({ rightTime: false });
  return {
    presence,
    clock,
    now: () => store.clock.now(),
    reaped,
    seen,
    quiet,
    hangUntil: (until: Promise<void>) => hang = until,
    async beat(times = 1) {
      for (let n = 0; n < times; n++) {
        clock.advance(5_000);
        await setImmediate();
        await quiet();
      }
    },
  };
}

Deno.test("presence: after a stop another instance takes over what is left at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one"), two = await processOn(kv, "two");
  await two.beat();
  await one.presence.stop();
  await two.beat();
  deq([two.reaped, two.presence.isLive("one")], [["one"], false]);
  await two.presence.stop();
});

Deno.test("presence: an instance that was declared dead holds nothing until its takeover has ended", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one"), two = await processOn(kv, "two");
  two.seen.reaps = false;
  await two.beat(4);
  eq(two.reaped.length > 0, true);
  await one.beat();
  deq([one.seen.isolated, one.presence.mayHold], [1, false]);
  await two.beat();
  eq(two.presence.isLive("one"), false);
  two.seen.reaps = true;
  await two.beat();
  await one.beat();
  two.reaped.length = 0;
  await two.beat();
  deq([one.presence.mayHold, two.reaped, two.presence.isLive("one")], [true, [], true]);
  await one.presence.stop();
  await two.presence.stop();
});

Deno.test("presence: a takeover that failed runs again a second later, and not after a stop", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one"), two = await processOn(kv, "two");
  const pass = async (ms: number) => {
    two.clock.advance(ms);
    await setImmediate();
    await two.quiet();
    return two.reaped.length;
  };
  two.seen.reaps = false;
  await two.beat(4);
  const failed = two.reaped.length;
  await pass(1_000);
  deq([await pass(999), await pass(1)], [failed + 1, failed + 2]);
  two.seen.reaps = true;
  deq([await pass(1_000), await pass(1_000)], [failed + 3, failed + 3]);
  await one.beat();
  eq(one.presence.mayHold, true);

  two.seen.reaps = false;
  await two.beat(4);
  const before = two.reaped.length;
  await two.presence.stop();
  eq(await pass(1_000), before);
  await one.presence.stop();
});

Deno.test("presence: time in which the store does not answer does not count towards a death", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one"), two = await processOn(kv, "two");
  await two.beat(2);
  const back = Promise.withResolvers<void>();
  two.hangUntil(back.promise);
  await two.beat(6);
  back.resolve();
  await setImmediate();
  await two.beat(1);
  deq([two.reaped, two.presence.isLive("one")], [[], true]);
  await one.beat();
  eq(one.seen.isolated, 0);
  await one.presence.stop();
  await two.presence.stop();
});

Deno.test("presence: an instance that is told of the store's return may hold links at once", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one");
  const back = Promise.withResolvers<void>();
  one.hangUntil(back.promise);
  await one.beat(3);
  deq([one.seen.isolated > 0, one.presence.mayHold], [true, false]);
  back.resolve();
  await one.presence.wake();
  eq(one.presence.mayHold, true);
  await one.presence.stop();
});

Deno.test("presence: after an outage the time until a death begins anew", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one"), two = await processOn(kv, "two");
  await two.beat(2);
  await two.presence.wake();
  await two.beat(2);
  deq([two.reaped, two.presence.isLive("one")], [[], true]);
  await two.beat(1);
  deq([two.reaped, two.presence.isLive("one")], [["one"], false]);
  await one.presence.stop();
  await two.presence.stop();
});

Deno.test("presence: a renewal counts from its beginning", async () => {
  using kv = await Deno.openKv(":memory:");
  const one = await processOn(kv, "one");
  const reply = Promise.withResolvers<void>();
  await one.beat();
  one.hangUntil(reply.promise);
  await one.beat();
  await one.beat();
  eq(one.seen.isolated, 1);
  one.hangUntil(new Promise(() => {}));
  reply.resolve();
  await setImmediate();
  await one.quiet();
  await one.beat();
  eq(one.seen.isolated, 2);
});

Deno.test("inbox: a wake at any moment of a reading is heard", async () => {
  for (let hops = 0; hops < 40; hops++) {
    const rows: string[] = [], handled: unknown[] = [];
    const kv = {
      async *list() {
        await Promise.resolve();
        for (const id of [...rows]) yield { key: ["~", "inbox", "me", id], value: id };
      },
    };
    const store = { kv, closing: false, transact: () => Promise.resolve() } as unknown as Store;
    const inbox = new Inbox(store, "me", (message) => {
      handled.push(message);
      return Promise.resolve();
    }, () => {});
    inbox.wake();
    for (let hop = 0; hop < hops; hop++) await Promise.resolve();
    rows.push("message");
    inbox.wake();
    await setImmediate();
    eq(handled.includes("message"), true, `after ${hops} microtasks`);
  }
});

Deno.test("inbox: the message that the watch brings is handled before the rows are read, and once", async () => {
  const handled: unknown[] = [];
  const kv = {
    async *list() {
      await setImmediate();
      yield { key: ["~", "inbox", "me", "msg_1"], value: "one" };
      yield { key: ["~", "inbox", "me", "msg_2"], value: "two" };
    },
  };
  const store = { kv, closing: false, transact: () => Promise.resolve() } as unknown as Store;
  const inbox = new Inbox(store, "me", (message) => {
    handled.push(message);
    return Promise.resolve();
  }, () => {});
  const read = inbox.wake({ id: "msg_2", message: "two" });
  deq(handled, ["two"]);
  await read;
  deq(handled, ["two", "one"]);
  await inbox.stop();
});

Deno.test("inbox: a message that nobody reads expires", () => {
  const staged: Mutation[] = [];
  stageMessage({ stage: (...mutations) => staged.push(...mutations) }, "gone", "msg_1", {});
  eq(staged.every((mutation) => mutation.kind === "set" && mutation.expireIn === 3_600_000), true);
});

Deno.test("inbox: a message whose handling fails is handled again at the next sweep, not at each wake", async () => {
  const clock = new ManualClock();
  const kv = {
    async *list() {
      yield await Promise.resolve({ key: ["~", "inbox", "me", "m"], value: "message" });
    },
  };
  let handled = 0;
  const store = { kv, clock, transact: () => Promise.resolve() } as unknown as Store;
  const inbox = new Inbox(store, "me", () => {
    handled++;
    return Promise.reject(new Error("not now"));
  }, () => {});
  inbox.start();
  for (let n = 0; n < 5; n++) {
    inbox.wake();
    await setImmediate();
  }
  eq(handled, 1);
  clock.advance(5_000);
  await setImmediate();
  eq(handled, 2);
});

Deno.test("presence: the only process of a store leaves nothing behind", async () => {
  using kv = await Deno.openKv(":memory:");
  const world = await World.open({ kv: shared(kv) });
  await world.running.stop();
  deq([await dump(kv, ["~", "instance"]), await dump(kv, ["~", "death"])], [[], []]);
});
