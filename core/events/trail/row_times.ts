import type { Tenant } from "../../../kv/store/collection.ts";
import type { EventLog, Sequenced } from "../../../kv/log/log.ts";
import type { AuditTreeRecord } from "../../../kv/records/audit.ts";
import type { EventRow } from "../emit.ts";

/** The largest difference between log order and timestamps: the time between a change and its commit. */
export const CLOCK_SLACK_MS = 60_000;
const TIMESTAMP_LENGTH = "2000-01-01T00:00:00.000Z".length;
/** What follows the timestamp in a row that belongs to a trace. */
const TRACE_LENGTH = `,"trace_id":"${"0".repeat(32)}"`.length;

/** A row's timestamp in ms. */
export const timestampMs = ({ json }: Pick<Sequenced, "json">): number =>
  Date.parse((JSON.parse(json) as EventRow).timestamp);

/** The timestamp in ms of an unaltered row, read without parsing: only the id of a trace may follow it. */
export const writtenAtMs = ({ json }: Pick<Sequenced, "json">): number =>
  Date.parse(timeText(json));

function timeText(json: string): string {
  // The id of a trace is hexadecimal.
  const end = json.length - (json.endsWith('Z"}') ? 2 : 2 + TRACE_LENGTH);
  return json.slice(end - TIMESTAMP_LENGTH, end);
}

type Times = Pick<AuditTreeRecord, "latest" | "set_back">;

/** Updates the newest timestamp and the last number at which a clock was set back, for further rows. */
export function advanceTimes({ latest, set_back }: Times, rows: readonly Sequenced[]): Times {
  for (const { seq, json } of rows) {
    // Timestamps of one format compare as strings.
    const time = timeText(json);
    if (time >= latest) latest = time;
    else if (Date.parse(latest) - Date.parse(time) > CLOCK_SLACK_MS) {
      latest = time;
      set_back = seq;
    }
  }
  return { latest, set_back };
}

/** True when the kept rows are in the order of their timestamps, within CLOCK_SLACK_MS. */
export const isTimeOrdered = (
  { expired, set_back }: Pick<AuditTreeRecord, "expired" | "set_back">,
): boolean => set_back <= expired + 1;

/**
 * The number of rows before the first one at or after `fromMs`, by binary search in a time-ordered log. The
 * caller subtracts CLOCK_SLACK_MS. Rows that are not `trusted` count as at or after.
 */
export async function rowsBefore(
  log: Pick<EventLog, "read">,
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
    if (row !== undefined && timestampMs(row) < fromMs && await trusted(row)) low = middle + 1;
    else high = middle;
  }
  return low;
}
