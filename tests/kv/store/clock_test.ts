import { strictEqual as eq } from "node:assert/strict";
import { isInWindow, isWithin } from "../../../kv/store/clock.ts";

Deno.test("isInWindow: from one window before the beginning up to the end", () => {
  for (
    const [nowMs, expected] of [[89, false], [90, true], [100, true], [109, true], [110, false]]
  ) {
    eq(isInWindow(100, 10, nowMs as number), expected, `at ${nowMs}`);
  }
});

Deno.test("isWithin: ends after its length, and when its beginning is further in the future", () => {
  for (
    const [nowMs, expected] of [[90, false], [91, true], [100, true], [109, true], [110, false]]
  ) {
    eq(isWithin(100, 10, nowMs as number), expected, `at ${nowMs}`);
  }
});
