import type { EventRow } from "./emit.ts";

/** The rule of a `command_denied` event. Earlier versions wrote it as `policy_id`. */
export const ruleOfDenial = (details: EventRow["details"]): string =>
  String(details["rule_id"] ?? details["policy_id"]);

const OUTCOMES: Readonly<Record<string, string>> = {
  command_timeout: "timed_out",
  command_cancelled: "cancelled",
  command_denied: "denied",
};

/** The statistics that an event increments, such as `commands.succeeded` and `denials.<rule>`. */
export function statisticsOf(
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

/** Waits are counted in buckets that grow by a fifth, so a median is exact to 20 %. */
const WAIT_RATIO = 1.2;
const WAIT_BUCKETS_MAX = 80; // 1.2^80 s is 25 days

/** The statistic that counts a wait of `ms`. */
export const waitStatistic = (ms: number): string => {
  const seconds = Math.max(1, ms / 1000);
  const bucket = Math.min(WAIT_BUCKETS_MAX, Math.ceil(Math.log(seconds) / Math.log(WAIT_RATIO)));
  return `waits.${bucket}`;
};

/** The median wait in seconds (the upper end of its bucket) from counts by bucket; null without waits. */
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
