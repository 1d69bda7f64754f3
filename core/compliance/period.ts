import { Fault } from "../fault/fault.ts";

/** A span of time, both ends included, in ms; as it was asked for. */
export interface Period {
  readonly asked: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
/** Ten years: more than any of the standards asks to keep. */
const SPAN_MAX_MS = 3_660 * DAY_MS;
const DATE = String.raw`\d{4}-\d{2}-\d{2}`;
const DATES = new RegExp(`^(${DATE})(?:\\.\\.|/)(${DATE})$`);

/**
 * Reads `24h`, `30d` (up to now), `2026-Q3`, or `2026-07-01..2026-09-30` (whole days, UTC; `/` also parts them).
 * @throws {Fault} VALIDATION_FAILED
 */
export function readPeriod(asked: string, nowMs: number): Period {
  const span = spanOf(asked, nowMs);
  if (span === null) {
    throw wrong("is none of 24h, 30d, 2026-Q3 and 2026-07-01..2026-09-30");
  }
  const [from_ms, to_ms] = span;
  if (from_ms > to_ms) throw wrong("ends before it begins");
  if (to_ms - from_ms > SPAN_MAX_MS) throw wrong("is longer than ten years");
  if (from_ms > nowMs) throw wrong("has not begun");
  return { asked, from_ms, to_ms };
}

function spanOf(asked: string, nowMs: number): readonly [number, number] | null {
  const [, count, unit] = /^([1-9]\d{0,4})([hd])$/.exec(asked) ?? [];
  if (unit !== undefined) return [nowMs - Number(count) * (unit === "h" ? HOUR_MS : DAY_MS), nowMs];
  const [, year, quarter] = /^(\d{4})-Q([1-4])$/.exec(asked) ?? [];
  if (quarter !== undefined) {
    // Not of numbers: of a year below 100 `Date.UTC` makes one of the last century.
    const from = new Date(`${year}-${String(Number(quarter) * 3 - 2).padStart(2, "0")}-01`);
    return [from.getTime(), new Date(from).setUTCMonth(from.getUTCMonth() + 3) - 1];
  }
  const [, first, last] = DATES.exec(asked) ?? [];
  const from = dayOf(first ?? ""), to = dayOf(last ?? "");
  return from === null || to === null ? null : [from, to + DAY_MS - 1];
}

/** The first millisecond of a day that is in the calendar, or null. */
function dayOf(text: string): number | null {
  const ms = Date.parse(`${text}T00:00:00.000Z`);
  return Number.isNaN(ms) || new Date(ms).toISOString().slice(0, 10) !== text ? null : ms;
}

function wrong(message: string): Fault {
  const issues = [{ path: "body.period", message }];
  return new Fault("VALIDATION_FAILED", `The period ${message}.`, { issues });
}
