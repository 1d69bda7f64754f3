import { deepStrictEqual as deq, strictEqual as eq, throws } from "node:assert/strict";
import { Fault } from "../../core/fault/fault.ts";
import { readPeriod } from "../../core/codec/period.ts";

const NOW_MS = Date.parse("2030-03-31T12:00:00.000Z");
const NOW = "2030-03-31T12:00:00.000Z";

const read = (asked: string) => {
  const { period, untilNow } = readPeriod(asked, NOW_MS, "query.period");
  const [from, to] = [period.from_ms, period.to_ms].map((ms) => new Date(ms).toISOString());
  return { from, to, untilNow };
};

Deno.test("readPeriod: hours, days and weeks end now, in either notation", () => {
  const same: [string[], string][] = [
    [["24h", "1d", "PT24H", "P1D"], "2030-03-30T12:00:00.000Z"],
    [["7d", "1w", "P7D", "P1W", "168h"], "2030-03-24T12:00:00.000Z"],
    [["30d", "P30D"], "2030-03-01T12:00:00.000Z"],
    [["90d", "P90D"], "2029-12-31T12:00:00.000Z"],
    [["P1M"], "2030-02-28T12:00:00.000Z"],
    [["P3M"], "2029-12-31T12:00:00.000Z"],
    [["P1Y", "P12M"], "2029-03-31T12:00:00.000Z"],
  ];
  for (const [forms, from] of same) {
    for (const asked of forms) deq(read(asked), { from, to: NOW, untilNow: true }, asked);
  }
});

Deno.test("readPeriod: quarters and dates end with their last millisecond, instants with themselves", () => {
  const cases = {
    "2029-Q4": ["2029-10-01T00:00:00.000Z", "2029-12-31T23:59:59.999Z"],
    "2028-Q1": ["2028-01-01T00:00:00.000Z", "2028-03-31T23:59:59.999Z"],
    "0099-Q4": ["0099-10-01T00:00:00.000Z", "0099-12-31T23:59:59.999Z"],
    "2028-02-01..2028-02-29": ["2028-02-01T00:00:00.000Z", "2028-02-29T23:59:59.999Z"],
    "2030-01-01/2030-01-01": ["2030-01-01T00:00:00.000Z", "2030-01-01T23:59:59.999Z"],
    "2029-11/2030-01": ["2029-11-01T00:00:00.000Z", "2030-01-31T23:59:59.999Z"],
    "2030-01-01T08:00/2030-01-02T08:00:00 01:00": [
      "2030-01-01T08:00:00.000Z",
      "2030-01-02T07:00:00.000Z",
    ],
  };
  for (const [asked, [from, to]] of Object.entries(cases)) {
    deq(read(asked), { from, to, untilNow: false }, asked);
  }
});

Deno.test("readPeriod: anything else is refused with the valid forms and the path of the period", () => {
  const bad = ["", "0h", "24", "7D", "p7d", "P0D", "P7", "PT7D", "1y", "1m", "-7d", "2026-Q5"];
  bad.push("2026-01-01", "2026-01-01/", "/2026-01-01", "2026-02-30/2026-03-01", "a/b/c", "100000h");
  const messages: [string, RegExp][] = bad.map((asked) => [asked, /`24h`.*`P7D`.*`from\/to`/]);
  messages.push(["2031-Q1", /has not begun/], ["2030-02-01/2030-01-01", /ends before it begins/]);
  messages.push(["2001-01-01/2029-01-01", /longer than ten years/], ["99999d", /ten years/]);
  for (const [asked, message] of messages) {
    throws(() => readPeriod(asked, NOW_MS, "body.period"), (error) => {
      const fault = error as Fault;
      eq(fault.code, "VALIDATION_FAILED", asked);
      deq((fault.details["issues"] as { path: string }[])[0]!.path, "body.period");
      return message.test(fault.message);
    }, asked);
  }
});
