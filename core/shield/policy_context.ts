import { type Hours, minutesOf, type Policy, type PolicyRule } from "./policy.ts";

/** Who asks for a command. */
export interface Who {
  /** The person behind it. */
  readonly userId: string;
  /** The user or the API key. */
  readonly actorId: string;
  readonly roles: readonly string[];
}

/** Where, when and for whom a command would run. */
export interface Circumstances {
  readonly labels: Readonly<Record<string, string>>;
  readonly who: Who | null;
  /** Milliseconds since the Unix epoch; rules about hours match nothing without it. */
  readonly atMs: number | null;
}

/** The rules of a policy that hold in these circumstances, in their order. */
export function rulesThatHold(policy: Policy, circumstances: Circumstances): PolicyRule[] {
  return policy.rules.filter(({ match }) => holds(match, circumstances));
}

/** Whether a policy asks for the roles of whoever wants a command run. */
export function asksForRoles(policy: Policy | null): boolean {
  return policy?.rules.some(({ match }) => match.roles !== undefined) ?? false;
}

function holds(match: PolicyRule["match"], { labels, who, atMs }: Circumstances): boolean {
  for (const [key, value] of Object.entries(match.labels ?? {})) {
    if (labels[key] !== value) return false;
  }
  const { roles, users, hours } = match;
  if (roles !== undefined && !roles.some((role) => who?.roles.includes(role))) return false;
  if (
    users !== undefined && !(who && users.some((id) => id === who.userId || id === who.actorId))
  ) {
    return false;
  }
  return hours === undefined || (atMs !== null && isWithin(hours, atMs));
}

const DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] as const;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Whether an instant lies in the hours; those over midnight belong to the day on which they begin. */
function isWithin({ from, to, days, timezone }: Hours, atMs: number): boolean {
  const start = minutesOf(from) ?? 0;
  const end = minutesOf(to) ?? 0;
  const { day, minutes } = localTime(atMs, timezone ?? "UTC");
  const overnight = end <= start;
  if (!overnight) return minutes >= start && minutes < end && isDay(days, day);
  if (minutes >= start) return isDay(days, day);
  return minutes < end && isDay(days, localTime(atMs - DAY_MS, timezone ?? "UTC").day);
}

const isDay = (days: Hours["days"], day: string) =>
  days === undefined || (days as readonly string[]).includes(day);

const formats = new Map<string, Intl.DateTimeFormat>();
/** Time zones that formats are kept for; there are some 400. */
const FORMATS_MAX = 500;

function localTime(atMs: number, timeZone: string): { day: string; minutes: number } {
  if (timeZone === "UTC") {
    const at = new Date(atMs);
    return {
      day: DAYS[at.getUTCDay()] ?? "sun",
      minutes: at.getUTCHours() * 60 + at.getUTCMinutes(),
    };
  }
  let format = formats.get(timeZone);
  if (format === undefined) {
    if (formats.size >= FORMATS_MAX) formats.clear();
    const fields = { weekday: "short", hour: "2-digit", minute: "2-digit" } as const;
    format = new Intl.DateTimeFormat("en-GB", { ...fields, timeZone, hourCycle: "h23" });
    formats.set(timeZone, format);
  }
  const parts = new Map(format.formatToParts(atMs).map(({ type, value }) => [type, value]));
  return {
    day: (parts.get("weekday") ?? "").toLowerCase(),
    minutes: Number(parts.get("hour")) * 60 + Number(parts.get("minute")),
  };
}
