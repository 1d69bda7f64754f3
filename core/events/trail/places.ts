import type { Tenant } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { AuditTreeRecord } from "../../../kv/records/audit.ts";
import type { App } from "../../work/work.ts";
import type { EventRow } from "../events.ts";

/** Log order and timestamps differ by no more than the time between a change and its commit. */
export const CLOCK_SLACK_MS = 60_000;
const TIMESTAMP_LENGTH = "2000-01-01T00:00:00.000Z".length;

/** When a row was written, in ms. */
export const atMs = ({ json }: Pick<Sequenced, "json">): number =>
  Date.parse((JSON.parse(json) as EventRow).timestamp);

/** The same of a row that is as it was written: its time is its last member. */
export const timeOf = ({ json }: Pick<Sequenced, "json">): number => Date.parse(timeText(json));

const timeText = (json: string): string => json.slice(-TIMESTAMP_LENGTH - 2, -2);

type Times = Pick<AuditTreeRecord, "latest" | "set_back">;

/** What is known of the times of a log's rows, after these. */
export function timesAfter({ latest, set_back }: Times, rows: readonly Sequenced[]): Times {
  for (const { seq, json } of rows) {
    // Such times compare as texts.
    const time = timeText(json);
    if (time >= latest) latest = time;
    else if (Date.parse(latest) - Date.parse(time) > CLOCK_SLACK_MS) {
      latest = time;
      set_back = seq;
    }
  }
  return { latest, set_back };
}

/** Whether all rows that are kept are in the order of their times, but for CLOCK_SLACK_MS. */
export const isInOrder = (
  { expired, set_back }: Pick<AuditTreeRecord, "expired" | "set_back">,
): boolean => set_back <= expired + 1;

/**
 * How many rows of a log that is in order stand before the first that is not older than `fromMs`, found by
 * halving; the caller leaves CLOCK_SLACK_MS. What is not `trusted` counts as not older.
 */
export async function rowsBefore(
  { log }: Pick<App, "log">,
  tenant: Tenant,
  fromMs: number,
  { from, to, trusted = () => true }: {
    readonly from: number;
    readonly to: number;
    readonly trusted?: (row: Sequenced) => boolean | Promise<boolean>;
  },
): Promise<number> {
  let low = from, high = to;
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    const [row] = await log.read(tenant, middle, 1);
    if (row !== undefined && atMs(row) < fromMs && await trusted(row)) low = middle + 1;
    else high = middle;
  }
  return low;
}
