import { rejects } from "node:assert/strict";
import { Fault } from "../../core/fault/fault.ts";
import { FailureThrottle } from "../../core/access/limits/throttle.ts";
import { Store } from "../../kv/store/store.ts";
import { ManualClock } from "../support/clock.ts";

const WINDOW_MS = 15 * 60 * 1000;
const WHO = {
  key: "who",
  of: { type: "user", id: "usr_1" },
  whose: "at the password of this user",
} as const;

for (const sole of [true, false]) {
  Deno.test(`FailureThrottle: after too many failures a key waits for one window, ${sole ? "also when the clock is set back, in memory" : "in a shared store"}`, async () => {
    const clock = new ManualClock();
    using kv = await Deno.openKv(":memory:");
    const store = new Store(kv, { clock, sole, hasQueue: false });
    const throttle = new FailureThrottle(store, { scope: "login", forgiving: true });
    const fail = () => throttle.attempt(WHO, () => Promise.reject(new Error("wrong")));
    for (let tries = 0; tries < 10; tries++) await rejects(fail(), /wrong/);
    await rejects(fail(), Fault);
    if (sole) clock.nowMs -= 24 * 60 * 60 * 1000;
    await rejects(fail(), Fault);
    clock.advance(WINDOW_MS - 1);
    await rejects(fail(), Fault);
    clock.advance(1);
    await rejects(fail(), /wrong/);
  });
}

Deno.test("FailureThrottle: in a shared store nobody waits for a time before the clock was set back", async () => {
  const clock = new ManualClock();
  using kv = await Deno.openKv(":memory:");
  const store = new Store(kv, { clock, sole: false, hasQueue: false });
  const throttle = new FailureThrottle(store, { scope: "login", forgiving: true });
  const fail = () => throttle.attempt(WHO, () => Promise.reject(new Error("wrong")));
  for (let tries = 0; tries < 10; tries++) await rejects(fail(), /wrong/);
  clock.nowMs -= 24 * 60 * 60 * 1000;
  await rejects(fail(), /wrong/);
});

Deno.test("FailureThrottle: the failures at two instances of a shared store count together", async () => {
  const clock = new ManualClock();
  using kv = await Deno.openKv(":memory:");
  const [one, two] = [1, 2].map(() => {
    const store = new Store(kv, { clock, sole: false, hasQueue: false });
    return new FailureThrottle(store, { scope: "login", forgiving: true });
  });
  const fail = (throttle: FailureThrottle) =>
    throttle.attempt(WHO, () => Promise.reject(new Error("wrong")));
  for (let tries = 0; tries < 5; tries++) {
    await rejects(fail(one!), /wrong/);
    await rejects(fail(two!), /wrong/);
  }
  await rejects(fail(one!), Fault);
  await rejects(fail(two!), Fault);
});
