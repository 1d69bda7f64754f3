import type { Tenant } from "../../kv/collection.ts";
import type { Sequenced } from "../../kv/log.ts";
import type { App } from "../app.ts";
import type { EventRow } from "../events.ts";

/** When a row was written, in ms. */
export const atMs = ({ json }: Pick<Sequenced, "json">): number =>
  Date.parse((JSON.parse(json) as EventRow).timestamp);

/**
 * How many rows stand before the first that is not older than `fromMs`, found by halving: rows are in the order
 * of their times but for CLOCK_SLACK_MS, which the caller leaves. What is not `trusted` counts as not older.
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
