import { Fault } from "../fault/fault.ts";
import { DAY_MS, HOUR_MS } from "../../kv/store/durations.ts";
import { ISO_CHARS_MAX, monthsFrom, readIso, type Span } from "./iso.ts";

/** A period as requested, and as instants in ms, both included. */
export interface Period {
  readonly asked: string;
  readonly from_ms: number;
  readonly to_ms: number;
}

/** Ten years, longer than any retention that a compliance standard requires. */
const SPAN_MAX_MS = 3_660 * DAY_MS;

/** Characters of the longest period: two instants. */
export const PERIOD_CHARS_MAX = 2 * ISO_CHARS_MAX + "..".length;

const LASTING = /^(?:([1-9]\d{0,4})([hdw])|PT([1-9]\d{0,4})(H)|P([1-9]\d{0,4})([DWMY]))$/;
const QUARTER = /^(\d{4})-Q([1-4])$/;

/** The syntax of periods, for messages. */
export const PERIOD_FORMS =
  "a duration up to now (`24h`, `7d`, `1w`, or in ISO 8601, such as `PT24H`, `P7D`, `P1W`, " +
  "`P1M` or `P1Y`), a quarter (`2026-Q4`), or `from/to` with ISO 8601 dates or times, both " +
  "inclusive (`2026-07-01/2026-09-30`)";

/** The rule for periods, as the end of a sentence that begins with the name of one. */
export const PERIOD_RULE =
  `must be ${PERIOD_FORMS}; it must have begun, must not end before it begins, and must ` +
  "span at most ten years";

/**
 * Reads a period; every endpoint uses this syntax.
 * @param where the path of the period in the request, such as `query.period`
 * @throws {Fault} VALIDATION_FAILED
 */
export function readPeriod(
  asked: string,
  nowMs: number,
  where: string,
): { period: Period; untilNow: boolean } {
  const lasting = lastingUntil(asked, nowMs);
  const span = lasting ?? quarterOf(asked) ?? between(asked);
  if (span === null) throw wrong(where, `must be ${PERIOD_FORMS}`);
  const { fromMs: from_ms, toMs: to_ms } = span;
  if (from_ms > to_ms) throw wrong(where, "ends before it begins");
  if (to_ms - from_ms > SPAN_MAX_MS) throw wrong(where, "is longer than ten years");
  if (from_ms > nowMs) throw wrong(where, "has not begun yet");
  return { period: { asked, from_ms, to_ms }, untilNow: lasting !== null };
}

const UNIT_MS: Readonly<Record<string, number>> = { h: HOUR_MS, d: DAY_MS, w: 7 * DAY_MS };

/** The length in ms of a number of hours, days or weeks, such as `12h`, `7d` or `2w`; null for another text. */
export function readDuration(text: string): number | null {
  const [, digits, unit] = /^([1-9]\d{0,4})([hdw])$/.exec(text) ?? [];
  return unit === undefined ? null : Number(digits) * UNIT_MS[unit]!;
}

/** A number of hours, days, weeks, months or years up to now. */
function lastingUntil(asked: string, nowMs: number): Span | null {
  const [, digits, letter] = LASTING.exec(asked)?.filter((part) => part !== undefined) ?? [];
  if (letter === undefined) return null;
  const count = Number(digits), unit = letter.toLowerCase();
  const unitMs = UNIT_MS[unit];
  const fromMs = unitMs === undefined
    ? monthsBefore(nowMs, unit === "y" ? 12 * count : count)
    : nowMs - count * unitMs;
  return { fromMs, toMs: nowMs };
}

/** The same day of an earlier month, or the last day of that month. */
function monthsBefore(nowMs: number, months: number): number {
  const now = new Date(nowMs);
  const first = monthsFrom(now.getUTCFullYear(), now.getUTCMonth() + 1 - months, 1);
  const daysMs = Math.min((now.getUTCDate() - 1) * DAY_MS, first.toMs + 1 - DAY_MS - first.fromMs);
  return first.fromMs + daysMs + nowMs % DAY_MS;
}

function quarterOf(asked: string): Span | null {
  const [, year, quarter] = QUARTER.exec(asked) ?? [];
  return quarter === undefined ? null : monthsFrom(Number(year), Number(quarter) * 3 - 2, 3);
}

/** Two dates or instants. */
function between(asked: string): Span | null {
  const [first, last, more] = asked.split(/\/|\.\./);
  if (last === undefined || more !== undefined) return null;
  const from = readIso(first!), to = readIso(last);
  return from && to && { fromMs: from.fromMs, toMs: to.toMs };
}

function wrong(where: string, message: string): Fault {
  const issues = [{ path: where, message }];
  return new Fault("VALIDATION_FAILED", `The period ${message}.`, { issues });
}
