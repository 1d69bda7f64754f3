import { setImmediate } from "node:timers";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { LeasedCounters } from "../../kv/counters.ts";
import { Store } from "../../kv/store.ts";
import { ManualClock } from "../support/clock.ts";
import { random } from "../support/random.ts";

const MINUTE_MS = 60_000;

Deno.test("LeasedCounters: one instance admits exactly the limit in each window, asked at once or in turn", async () => {
  const clock = new ManualClock();
  const kv = await Deno.openKv(":memory:");
  const store = new Store(kv, { clock, sole: true, hasQueue: false });
  const counters = new LeasedCounters(store, 1);
  for (const limit of [1, 2, 7, 100]) {
    for (let window = 0; window < 3; window++) {
      const asked = Array.from(
        { length: limit + 5 },
        () => counters.take(`k${limit}`, limit, MINUTE_MS),
      );
      const grants = await Promise.all(asked);
      eq(grants.filter(({ admitted }) => admitted).length, limit);
      ok(grants.every(({ remaining }) => remaining >= 0 && remaining < limit));
      eq((await counters.take(`k${limit}`, limit, MINUTE_MS)).admitted, false);
      clock.advance(MINUTE_MS);
    }
  }
  await store.close();
});

Deno.test("LeasedCounters: several instances never admit more than the limit, in any interleaving", async () => {
  const seed = crypto.getRandomValues(new Uint16Array(1))[0]!;
  console.log(`counters seed ${seed}`);
  const dice = random(seed);
  for (let round = 0; round < 12; round++) {
    const clock = new ManualClock();
    const kv = await Deno.openKv(":memory:");
    const instances = 2 + dice.below(3);
    const limit = 1 + dice.below(120);
    const all = Array.from({ length: instances }, () => {
      const store = new Store(kv, { clock, sole: false, hasQueue: false });
      return new LeasedCounters(store, instances);
    });
    const admitted = new Map<number, number>();
    const asked: Promise<void>[] = [];
    for (let n = 0; n < 3 * limit; n++) {
      const taken = dice.pick(all).take("key", limit, MINUTE_MS);
      asked.push(
        Promise.resolve(taken).then((grant) => {
          if (!grant.admitted) return;
          admitted.set(grant.resetMs, (admitted.get(grant.resetMs) ?? 0) + 1);
        }),
      );
      if (dice.chance(0.2)) {
        await new Promise((resolve) => setImmediate(resolve));
        clock.advance(dice.below(50));
      }
    }
    let waiting = true;
    const done = Promise.all(asked).then(() => waiting = false);
    while (waiting) {
      clock.advance(5);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await done;
    deq([...admitted.values()].filter((count) => count > limit), []);
    kv.close();
  }
});
