import { type Comparing, spendCompare } from "../interpreter/budget.ts";
import { type Day, localTime } from "./local_time.ts";
import { type Hours, minutesOf, type Policy, type PolicyRule } from "./policy.ts";

/** The cost of computing a local time, in compared characters. */
const HOURS_COST = 512;

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

/** The rules of a policy that hold for this line in these circumstances, in their order. @throws {BudgetSpent} */
export function rulesThatHold(
  policy: Policy,
  line: string,
  circumstances: Circumstances,
  comparing: Comparing,
): PolicyRule[] {
  return policy.rules.filter(({ match }) =>
    isOneOf(match.lines, line, comparing) && holds(match, circumstances, comparing)
  );
}

function isOneOf(
  lines: readonly string[] | undefined,
  line: string,
  comparing: Comparing,
): boolean {
  if (lines === undefined) return true;
  const alike = lines.filter(({ length }) => length === line.length);
  spendCompare(comparing, lines.length + alike.length * line.length);
  return alike.includes(line);
}

/** Whether a policy has conditions on the caller's roles. */
export function asksForRoles(policy: Policy | null): boolean {
  return policy?.rules.some(({ match }) => match.roles !== undefined) ?? false;
}

function holds(
  match: PolicyRule["match"],
  { labels, who, atMs }: Circumstances,
  comparing: Comparing,
): boolean {
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
  if (hours === undefined) return true;
  spendCompare(comparing, HOURS_COST);
  return atMs !== null && isWithin(hours, atMs);
}

/** Whether an instant lies in the hours; those over midnight belong to the day on which they begin. */
function isWithin({ from, to, days, timezone }: Hours, atMs: number): boolean {
  const start = minutesOf(from) ?? 0;
  const end = minutesOf(to) ?? 0;
  const { day, dayBefore, minutes } = localTime(atMs, timezone ?? "UTC");
  const overnight = end <= start;
  if (!overnight) return minutes >= start && minutes < end && isDay(days, day);
  if (minutes >= start) return isDay(days, day);
  return minutes < end && isDay(days, dayBefore);
}

const isDay = (days: Hours["days"], day: Day) => days === undefined || days.includes(day);
