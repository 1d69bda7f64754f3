import {
  COMMAND_STATUSES,
  commands,
  type CommandStatus,
  type FleetCommandRecord,
  OPEN_STATUSES,
} from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { indexKeys } from "../../../kv/store/iterate.ts";
import type { Store } from "../../../kv/store/store.ts";
import { AGENTS_MAX } from "./select.ts";

/** The ids of a fleet command's commands, by status. One read, so no command is in two statuses or in none. */
export async function idsByStatus(
  store: Store,
  tenant: Tenant,
  parentId: string,
): Promise<Map<CommandStatus, string[]>> {
  const ids = new Map<CommandStatus, string[]>();
  const range = { prefix: [parentId], limit: AGENTS_MAX };
  for await (const key of indexKeys(store, commands, tenant, "parent_status", range)) {
    const [status, id] = key as [CommandStatus, string];
    const known = ids.get(status);
    if (known === undefined) ids.set(status, [id]);
    else known.push(id);
  }
  return ids;
}

/** How many commands of a fleet command have each status. */
export type Counts = Readonly<Record<CommandStatus, number>>;

export const countsOf = async (store: Store, tenant: Tenant, parentId: string): Promise<Counts> =>
  countsIn(await idsByStatus(store, tenant, parentId));

export function countsIn(ids: ReadonlyMap<CommandStatus, readonly string[]>): Counts {
  const counts = COMMAND_STATUSES.map((status) => [status, ids.get(status)?.length ?? 0]);
  return Object.fromEntries(counts) as Counts;
}

/** Statuses of commands that count as failures for `stop_after_failures`. */
const FAILURES: readonly CommandStatus[] = ["failed", "timed_out", "lost"];
export const isFailure = (status: CommandStatus): boolean => FAILURES.includes(status);

export const failuresIn = (counts: Counts): number =>
  FAILURES.reduce((sum, status) => sum + counts[status], 0);

export const openIn = (counts: Counts): number =>
  OPEN_STATUSES.reduce((sum, status) => sum + counts[status], 0);

/** The state of a fleet command, as answers show it. */
export function statusOf(
  { status, stop, total }: Pick<FleetCommandRecord, "status" | "stop" | "total">,
  { succeeded }: Counts,
) {
  if (status !== "ended") return "running";
  // A preparation that was cut off may have recorded no command.
  if (total > 0 && succeeded === total) return "succeeded";
  return stop === null || stop.reason === "failures" ? "failed" : "cancelled";
}
