import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { ISO_CHARS_MAX, ISO_PATTERN, readIso } from "../../core/codec/iso.ts";
import { DAY_MS } from "../../kv/store/durations.ts";
import { mulberry32 } from "../support/random.ts";

const PATTERN = new RegExp(`^${ISO_PATTERN}$`);
const span = (text: string) => {
  const read = readIso(text);
  return read && [read.fromMs, read.toMs].map((ms) => new Date(ms).toISOString());
};

Deno.test("readIso: an instant is the same in every form, also with a space for an unescaped plus", () => {
  const dates = ["2026-01-31", "20260131", "2026-031", "2026031", "2026-W05-6", "2026W056"];
  const noon = ["12", "12:00", "1200", "12:00:00", "120000", "12:00:00.000", "12:00:00,0"];
  const zones = ["", "Z", "z", "+00:00", "-00:00", " 00:00", "+0000", " 0000", "+00", " 00"];
  for (const date of dates) {
    for (const time of noon) {
      for (const zone of zones) {
        for (const between of ["T", "t", " "]) {
          const text = date + between + time + zone;
          deq(span(text), Array(2).fill("2026-01-31T12:00:00.000Z"), text);
          eq(PATTERN.test(text), true, text);
        }
      }
    }
  }
  const others = {
    "2026-01-31T12:00:00 02:00": "2026-01-31T10:00:00.000Z",
    "2026-01-31T12:00:00-05:30": "2026-01-31T17:30:00.000Z",
    "2026-01-31T24:00": "2026-02-01T00:00:00.000Z",
    "2026-01-31T12:30.5": "2026-01-31T12:30:30.000Z",
    "2026-01-31T12,25Z": "2026-01-31T12:15:00.000Z",
    "2026-01-31T12:00:00.57": "2026-01-31T12:00:00.570Z",
    "2026-01-31T12:00:00.123456789+00:00": "2026-01-31T12:00:00.123Z",
    "0099-01-01T00:00Z": "0099-01-01T00:00:00.000Z",
  };
  for (const [text, at] of Object.entries(others)) deq(span(text), [at, at], text);
});

Deno.test("readIso: a date is its whole day, week, month or year", () => {
  const spans = {
    "2026-01-31": ["2026-01-31T00:00:00.000Z", "2026-01-31T23:59:59.999Z"],
    "2028-02": ["2028-02-01T00:00:00.000Z", "2028-02-29T23:59:59.999Z"],
    "2026": ["2026-01-01T00:00:00.000Z", "2026-12-31T23:59:59.999Z"],
    "2026-W01": ["2025-12-29T00:00:00.000Z", "2026-01-04T23:59:59.999Z"],
    "2026W53": ["2026-12-28T00:00:00.000Z", "2027-01-03T23:59:59.999Z"],
    "2028-366": ["2028-12-31T00:00:00.000Z", "2028-12-31T23:59:59.999Z"],
  };
  for (const [text, expected] of Object.entries(spans)) deq(span(text), expected, text);
});

Deno.test("readIso: anything else is refused, and the pattern agrees", () => {
  const bad = ["", "now", "26-01-31", "2026-1-31", "2026-13-01", "2026-02-29", "1900-02-29"];
  bad.push("2026-04-31", "2026-00", "202601", "2026-W54", "2026-W00", "2026-W05-8", "2026-366");
  bad.push("2026-000", "2026-01-31T", "2026-01-31T25:00", "2026-01-31T24:01", "2026-01-31T12:60");
  bad.push("2026-01-31T12:00:61", "2026-01-31T12:00+24:00", "2026-01-31Z", "2026-01T12:00");
  bad.push("2026-01-31T12:00:00.Z", "2026-01-31T12:00:00+1:00", "1769860800", " 2026-01-31");
  for (const text of bad) {
    eq(readIso(text), null, text);
    eq(PATTERN.test(text), false, text);
  }
});

Deno.test("readIso: agrees with the platform on the formats that the platform writes", () => {
  const seed = crypto.getRandomValues(new Uint32Array(1))[0]!;
  console.log(`iso: seed ${seed}`);
  const unit = mulberry32(seed);
  for (let n = 0; n < 5_000; n++) {
    const ms = Math.floor(unit() * 250 * 365 * DAY_MS);
    const text = new Date(ms).toISOString();
    deq(readIso(text), { fromMs: ms, toMs: ms }, text);
    eq(readIso(text.slice(0, 10))!.fromMs, Math.floor(ms / DAY_MS) * DAY_MS, text);
  }
});

Deno.test("readIso: Python accepts the pattern too", () => {
  match(ISO_PATTERN, /^(?!.*\(\?<|.*\\[dDwW])/);
  eq(readIso("2026-01-31T12:00:00.123456789+00:00") !== null, true);
  eq(ISO_CHARS_MAX, 35);
});
