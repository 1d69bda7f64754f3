import { DAY_MS, HOUR_MS } from "../../kv/store/durations.ts";

/** A span of time in ms, both ends included. */
export interface Span {
  readonly fromMs: number;
  readonly toMs: number;
}

const WEEK_MS = 7 * DAY_MS;

const YEAR = "(?<year>[0-9]{4})";
const LEAP_YEAR =
  "(?<year>[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)";
const MONTH = "(?<month>0[1-9]|1[0-2])";
const WEEK = "W(?<week>0[1-9]|[1-4][0-9]|5[0-3])";

/** A day by month, by week or by its number in the year. Only existing days match. */
const DAY = [
  `${YEAR}-?(?<month>0[13578]|1[02])-?(?<day>0[1-9]|[12][0-9]|3[01])`,
  `${YEAR}-?(?<month>0[469]|11)-?(?<day>0[1-9]|[12][0-9]|30)`,
  `${YEAR}-?(?<month>02)-?(?<day>0[1-9]|1[0-9]|2[0-8])`,
  `${LEAP_YEAR}-?(?<month>02)-?(?<day>29)`,
  `${YEAR}-?${WEEK}-?(?<weekday>[1-7])`,
  `${YEAR}-?(?<ordinal>00[1-9]|0[1-9][0-9]|[12][0-9]{2}|3[0-5][0-9]|36[0-5])`,
  `${LEAP_YEAR}-?(?<ordinal>366)`,
].join("|");

const CLOCK = "(?<hour>[01][0-9]|2[0-3])(?::?(?<minute>[0-5][0-9])(?::?(?<second>[0-5][0-9]))?)?" +
  "(?:[.,](?<fraction>[0-9]{1,9}))?|(?<hour>24)(?::?00(?::?00)?)?";
// An unescaped `+` in a query arrives as a space.
const ZONE = "[Zz]|(?<sign>[+ -])(?<zoneHour>[01][0-9]|2[0-3])(?::?(?<zoneMinute>[0-5][0-9]))?";

const ISO =
  `(?:${DAY})(?:[Tt ](?:${CLOCK})(?:${ZONE})?)?|${YEAR}|${YEAR}-${MONTH}|${YEAR}-?${WEEK}`;

/** Characters of the longest form. */
export const ISO_CHARS_MAX = "2026-01-31T12:00:00.123456789+00:00".length;

/** The syntax of `readIso`, as an unanchored pattern for ECMAScript and Python. */
export const ISO_PATTERN = `(?:${ISO.replaceAll(/\(\?<\w+>/g, "(?:")})`;

const WHOLE = new RegExp(`^(?:${ISO})$`);

/**
 * Reads an ISO 8601 date or instant: calendar, week and ordinal dates, basic and extended, any precision down to
 * fractions; UTC unless it names a zone. A date becomes the span of its day, week, month or year, an instant one
 * millisecond. Null for any other text.
 */
export function readIso(text: string): Span | null {
  const found = WHOLE.exec(text)?.groups;
  if (found === undefined) return null;
  const date = spanOfDate(found);
  if (found["hour"] === undefined) return date;
  const ms = date.fromMs + clockOf(found) - zoneOf(found);
  return { fromMs: ms, toMs: ms };
}

/** The span of a calendar month and the `count - 1` months after it; `month` counts from 1. */
export const monthsFrom = (year: number, month: number, count: number): Span => ({
  fromMs: dayMs(year, month, 1),
  toMs: dayMs(year, month + count, 1) - 1,
});

type Groups = Readonly<Record<string, string | undefined>>;

function spanOfDate({ year, month, day, week, weekday, ordinal }: Groups): Span {
  const y = Number(year);
  if (ordinal !== undefined) return spanFrom(dayMs(y, 1, Number(ordinal)), DAY_MS);
  if (week !== undefined) {
    // Week 53 of a year with 52 weeks is the first of the next year.
    const weekMs = firstMondayMs(y) + (Number(week) - 1) * WEEK_MS;
    if (weekday === undefined) return spanFrom(weekMs, WEEK_MS);
    return spanFrom(weekMs + (Number(weekday) - 1) * DAY_MS, DAY_MS);
  }
  if (month === undefined) return monthsFrom(y, 1, 12);
  if (day === undefined) return monthsFrom(y, Number(month), 1);
  return spanFrom(dayMs(y, Number(month), Number(day)), DAY_MS);
}

const spanFrom = (fromMs: number, lengthMs: number): Span => ({
  fromMs,
  toMs: fromMs + lengthMs - 1,
});

/** `Date.UTC` would move years below 100 to the 20th century. */
const dayMs = (year: number, month: number, day: number): number =>
  new Date(0).setUTCFullYear(year, month - 1, day);

/** The Monday of the week of January 4, which is the first week of the year. */
function firstMondayMs(year: number): number {
  const januaryMs = dayMs(year, 1, 4);
  return januaryMs - (new Date(januaryMs).getUTCDay() + 6) % 7 * DAY_MS;
}

/** The time of day in ms. A fraction belongs to the smallest given unit. */
function clockOf({ hour, minute, second, fraction = "0" }: Groups): number {
  const unitMs = second !== undefined ? 1000 : minute !== undefined ? 60_000 : HOUR_MS;
  return Number(hour) * HOUR_MS + Number(minute ?? 0) * 60_000 + Number(second ?? 0) * 1000 +
    Math.floor(Number(fraction) * unitMs / 10 ** fraction.length);
}

function zoneOf({ sign, zoneHour = "0", zoneMinute = "0" }: Groups): number {
  const ms = Number(zoneHour) * HOUR_MS + Number(zoneMinute) * 60_000;
  return sign === "-" ? -ms : ms;
}
