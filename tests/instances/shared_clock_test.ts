import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import { Presence } from "../../kv/instances/presence.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";
import { shared } from "../support/kv.ts";
import { quietKv } from "../support/quiet_kv.ts";

const MINUTE = 60_000;

/** Processes on one store whose machines' clocks are set apart. */
async function cluster() {
  const engine = await Deno.openKv(":memory:");
  const all: { clock: ManualClock; presence: Presence; quiet: () => Promise<void> }[] = [];
  const startMs = new ManualClock().now();
  let passedMs = 0;
  const settle = async () => {
    await setImmediate();
    for (const { quiet } of all) await quiet();
  };
  return {
    /** Starts a process whose machine's clock is off by this much. */
    async start(offMs: number, { waits = 0 } = {}) {
      const { kv, quiet } = quietKv(shared(engine));
      const clock = new ManualClock(startMs + passedMs + offMs);
      const store = new Store(kv, { clock, sole: false, hasQueue: false });
      const presence = new Presence(
        store,
        `ins_${all.length}`,
        { isolated() {}, reap: () => Promise.resolve() },
        (error) => {
          throw error;
        },
      );
      all.push({ clock, presence, quiet });
      const started = presence.start({ rightTime: false });
      started.catch(() => {});
      await settle();
      await this.pass(waits);
      await started;
      return { clock, presence, offMs: () => store.clock.now() - startMs - passedMs };
    },
    /** Time passes for every process, in steps of half a second. */
    async pass(ms: number) {
      for (let left = ms; left > 0; left -= 500) {
        passedMs += 500;
        for (const { clock } of all) clock.advance(500);
        await settle();
      }
    },
    async [Symbol.asyncDispose]() {
      for (const { presence } of all) await presence.stop();
      engine.close();
    },
  };
}

Deno.test("shared clock: an instance whose clock is minutes off follows the time of those that live", async () => {
  await using c = await cluster();
  const first = await c.start(0);
  const ahead = await c.start(4 * MINUTE, { waits: 12_000 });
  const behind = await c.start(-4 * MINUTE, { waits: 12_000 });
  await c.pass(20_000);
  for (const one of [first, ahead, behind]) ok(Math.abs(one.offMs()) < 1_000, `${one.offMs()}`);
});

Deno.test("shared clock: an instance whose clock is more than five minutes off refuses to start and says why", async () => {
  await using c = await cluster();
  await c.start(0);
  await rejects(
    c.start(6 * MINUTE, { waits: 12_000 }),
    /clock is 36[01] s ahead of those of the other/,
  );
  await rejects(
    c.start(-6 * MINUTE, { waits: 12_000 }),
    /clock is 3(60|59) s behind those of the other/,
  );
});

Deno.test("shared clock: a lone instance follows its machine's clock, forward and back", async () => {
  await using c = await cluster();
  const one = await c.start(0);
  one.clock.nowMs += 10 * MINUTE;
  await c.pass(5_000);
  eq(one.offMs(), 10 * MINUTE);
  one.clock.nowMs -= 10 * MINUTE;
  await c.pass(5_000);
  eq(one.offMs(), 0);
});

Deno.test("shared clock: a machine whose clock is set forward while others live follows them", async () => {
  await using c = await cluster();
  const one = await c.start(0), two = await c.start(0);
  await c.pass(10_000);
  two.clock.nowMs += 3 * MINUTE;
  await c.pass(10_000);
  for (const each of [one, two]) ok(Math.abs(each.offMs()) < 1_000, `${each.offMs()}`);
});

Deno.test("shared clock: a drift of one machine does not carry the shared time away", async () => {
  await using c = await cluster();
  const all = [await c.start(0), await c.start(0), await c.start(0)];
  for (let round = 0; round < 800; round++) {
    all[0]!.clock.nowMs += 20;
    await c.pass(5_000);
  }
  for (const each of all) ok(Math.abs(each.offMs()) < 10_000, `${each.offMs()}`);
});

Deno.test("shared clock: a store that rested for an hour makes no instance late", async () => {
  await using c = await cluster();
  const one = await c.start(0);
  await one.presence.stop();
  await c.pass(60 * MINUTE);
  const two = await c.start(0);
  deq(two.offMs(), 0);
});
