import { strictEqual as eq } from "node:assert/strict";
import {
  dueAt,
  isImplausible,
  isInWindow,
  isUnexpired,
  isWithin,
} from "../../../kv/store/clock.ts";

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

Deno.test("dueAt, isUnexpired: a stored instant further ahead than anything waits is due now", () => {
  for (
    const [nowMs, due, before, implausible] of [
      [89, 89, false, true],
      [90, 100, true, false],
      [99, 100, true, false],
      [100, 100, false, false],
      [101, 100, false, false],
    ] as const
  ) {
    eq(dueAt(100, 10, nowMs), due, `at ${nowMs}`);
    eq(isUnexpired(100, 10, nowMs), before, `at ${nowMs}`);
    eq(isImplausible(100, 10, nowMs), implausible, `at ${nowMs}`);
  }
});
