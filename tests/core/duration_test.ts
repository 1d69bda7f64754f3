import assert from "node:assert/strict";

import { parseDuration } from "../../core/duration.ts";

Deno.test("parseDuration: gives the milliseconds of every unit", () => {
  const expected = {
    "45s": 45_000,
    "30m": 1_800_000,
    "24h": 86_400_000,
    "7d": 604_800_000,
    "90d": 7_776_000_000,
    "2w": 1_209_600_000,
    "999999w": 999_999 * 604_800_000,
  };
  for (const [text, ms] of Object.entries(expected)) assert.equal(parseDuration(text), ms, text);
});

Deno.test("parseDuration: anything else is null", () => {
  const others = ["", "0d", "007d", "-1d", "+1d", "1.5h", "1e3s", "7", "d", "7D", "7 d", " 7d"];
  others.push("7d ", "7d\n", "1d12h", "7y", "7ms", "1000000s", "٧d", "constructor", "1__proto__");
  for (const text of others) assert.equal(parseDuration(text), null, JSON.stringify(text));
});
