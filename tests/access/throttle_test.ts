import { rejects } from "node:assert/strict";
import { Fault } from "../../core/fault/fault.ts";
import { FailureThrottle } from "../../core/access/limits/throttle.ts";
import { Bench } from "../support/kv.ts";

const WINDOW_MS = 15 * 60 * 1000;

Deno.test("FailureThrottle: after too many failures a key waits for one window, also when the clock is set back", async () => {
  await using bench = await Bench.memory();
  const { clock, store } = bench;
  const throttle = new FailureThrottle(store, { scope: "login", forgiving: true });
  const fail = () => throttle.attempt("who", () => Promise.reject(new Error("wrong")));
  for (let tries = 0; tries < 10; tries++) await rejects(fail(), /wrong/);
  await rejects(fail(), Fault);
  clock.nowMs -= 24 * 60 * 60 * 1000;
  await rejects(fail(), Fault);
  clock.advance(WINDOW_MS - 1);
  await rejects(fail(), Fault);
  clock.advance(1);
  await rejects(fail(), /wrong/);
});
