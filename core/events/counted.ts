import type { EventRow } from "./events.ts";

const OUTCOMES: Readonly<Record<string, string>> = {
  command_timeout: "timed_out",
  command_cancelled: "cancelled",
  command_denied: "denied",
};

/** What an event counts as in the statistics: `commands.succeeded`, `denials.<rule>`, or nothing. */
export function countedAs(
  { type, details }: Pick<EventRow, "details"> & { readonly type: string },
): string[] {
  switch (type) {
    case "command_executed":
    case "command_failed":
      return [`commands.${details.status}`];
    case "command_timeout":
    case "command_cancelled":
      return [`commands.${OUTCOMES[type]}`];
    case "command_denied":
      return ["commands.denied", `denials.${ruleOfDenial(details)}`];
    default:
      return [];
  }
}

/** The rule of a `command_denied` event. Events of earlier versions have it as `policy_id`. */
export const ruleOfDenial = (details: EventRow["details"]): string =>
  String(details["rule_id"] ?? details["policy_id"]);

/** Waits are counted in buckets, each a fifth wider than the one before: a median is that exact. */
const WAIT_RATIO = 1.2;
const WAIT_BUCKETS_MAX = 80; // 1.2^80 s is 25 days

/** The bucket of a wait. */
export const waitName = (ms: number): string => {
  const seconds = Math.max(1, ms / 1000);
  const bucket = Math.min(WAIT_BUCKETS_MAX, Math.ceil(Math.log(seconds) / Math.log(WAIT_RATIO)));
  return `waits.${bucket}`;
};

/** The median of waits by bucket, in seconds: the upper end of the bucket that holds it; null of none. */
export function medianWait(buckets: Readonly<Record<string, number>>): number | null {
  const rows = Object.entries(buckets).map(([name, n]) => [Number(name), n] as const)
    .sort(([a], [b]) => a - b);
  let left = rows.reduce((sum, [, n]) => sum + n, 0) / 2;
  for (const [bucket, n] of rows) {
    left -= n;
    if (left <= 0) return Math.round(WAIT_RATIO ** bucket);
  }
  return null;
}
