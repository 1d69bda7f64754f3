const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
export type Day = (typeof DAYS)[number];

/** The day and the time of day in a time zone. */
interface LocalTime {
  readonly day: Day;
  readonly dayBefore: Day;
  /** Since midnight. */
  readonly minutes: number;
}

const MINUTE_MS = 60_000;
const OFFSET = /^([+-])(\d\d)(?::?(\d\d))?$/;

/** The format of a zone, and its last answer. */
interface Zone {
  readonly format: Intl.DateTimeFormat;
  last: { readonly minute: number; readonly time: LocalTime } | null;
}

/** Formats by the zone's name in lower case: making one is slow, and there are only some 600 names. */
const zones = new Map<string, Zone>();

/** True for the name of a time zone, and for an offset such as `+05:30`. */
export function isTimeZone(name: string): boolean {
  try {
    if (offsetMinutes(name) === null) zoneOf(name);
    return true;
  } catch {
    return false;
  }
}

/** The time in a zone, cached for the minute. @throws {RangeError} for an unknown zone */
export function localTime(atMs: number, zone: string): LocalTime {
  const minute = Math.floor(atMs / MINUTE_MS);
  const offset = offsetMinutes(zone);
  if (offset !== null) return atUtc(minute + offset);
  const known = zoneOf(zone);
  if (known.last?.minute !== minute) {
    known.last = { minute, time: readFormat(known.format, minute * MINUTE_MS) };
  }
  return known.last.time;
}

/** The fixed offset of a zone such as `+05:30`, in minutes; null for a named zone. */
function offsetMinutes(zone: string): number | null {
  if (zone === "UTC") return 0;
  const [, sign, hours, minutes = "0"] = OFFSET.exec(zone) ?? [];
  if (sign === undefined || Number(hours) > 23 || Number(minutes) > 59) return null;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

function atUtc(minute: number): LocalTime {
  const at = new Date(minute * MINUTE_MS);
  return timeOf(at.getUTCDay(), at.getUTCHours() * 60 + at.getUTCMinutes());
}

const timeOf = (day: number, minutes: number): LocalTime => ({
  day: DAYS[day]!,
  dayBefore: DAYS[(day + 6) % 7]!,
  minutes,
});

function zoneOf(name: string): Zone {
  const key = name.toLowerCase();
  let zone = zones.get(key);
  if (zone === undefined) {
    const fields = { weekday: "short", hour: "2-digit", minute: "2-digit" } as const;
    const format = new Intl.DateTimeFormat("en-GB", {
      ...fields,
      timeZone: name,
      hourCycle: "h23",
    });
    zones.set(key, zone = { format, last: null });
  }
  return zone;
}

function readFormat(format: Intl.DateTimeFormat, atMs: number): LocalTime {
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  const day = DAYS.indexOf((parts.get("weekday") ?? "").toLowerCase() as Day);
  return timeOf(day, Number(parts.get("hour")) * 60 + Number(parts.get("minute")));
}
