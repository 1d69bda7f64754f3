import { agents } from "../../../kv/records/agent.ts";
import {
  type CommandRecord,
  type CommandStatus,
  type FleetCommandRecord,
  fleetCommands,
} from "../../../kv/records/command.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { Fault } from "../../fault/fault.ts";
import {
  type CommandPaging,
  findCommands,
  type Finding,
  type RunningHere,
  showListed,
} from "../commands/list.ts";
import { type Counts, countsOf, statusOf } from "./counts.ts";

/** The commands of a fleet command that an answer shows. */
export interface Shown extends CommandPaging {
  /** Any of these. */
  readonly status?: readonly CommandStatus[] | undefined;
  /** Those that ended at this time or later, in ms. */
  readonly endedSinceMs?: number | undefined;
  /** Whether to show their output. */
  readonly output: boolean;
}

/** The caller's fleet command. @throws {Fault} NOT_FOUND */
export async function ownedFleetCommand(
  { db, actor }: Pick<Finding, "db" | "actor">,
  id: string,
): Promise<FleetCommandRecord> {
  const fleet = await db.get(fleetCommands, actor.tenant, id);
  if (fleet !== null && fleet.status !== "preparing") return fleet;
  throw new Fault(
    "NOT_FOUND",
    "There is no such fleet command. One command is at GET /api/v1/agents/{id}/commands/{command_id}.",
  );
}

/** A fleet command with its totals and a page of its commands. @throws {Fault} NOT_FOUND, VALIDATION_FAILED */
export async function getFleetCommand(
  work: Finding,
  running: RunningHere,
  id: string,
  shown: Shown,
) {
  const fleet = await ownedFleetCommand(work, id);
  const { status, endedSinceMs } = shown;
  const filter = { parent_id: id, status, endedSinceMs };
  const { found, cursor } = await findCommands(work, running, filter, shown);
  const { db, actor: { tenant } } = work;
  const named = await Promise.all(found.map(async (record) => ({
    ...showListed(record),
    agent_name: (await db.get(agents, tenant, record.agent_id))?.name ?? null,
    ...(shown.output && outputIn(record)),
  })));
  const { store } = work;
  return { ...show(fleet, await countsOf(store, tenant, id)), commands: named, cursor };
}

/** A command's output as its row holds it. Large output has a place of its own, and is read one by one. */
const outputIn = ({ output, stdout, stderr }: CommandRecord) =>
  output === null ? { stdout, stderr } : { output_omitted: true as const };

/** A fleet command with its totals. @throws {Fault} NOT_FOUND */
export async function showFleetCommand(work: Finding, id: string) {
  return show(await ownedFleetCommand(work, id), await countsOf(work.store, work.actor.tenant, id));
}

function show(fleet: FleetCommandRecord, counts: Counts) {
  const { stop, alert_id } = fleet;
  return {
    id: fleet.id,
    command: fleet.command,
    status: statusOf(fleet, counts),
    stopped: stop && { reason: stop.reason, by: stop.by, at: iso(stop.at_ms) },
    total: fleet.total,
    counts,
    parallel: fleet.parallel,
    stop_after_failures: fleet.stop_after_failures,
    timeout: fleet.timeout_ms / 1000,
    actor: fleet.actor,
    approvals: fleet.approvals,
    ...(alert_id !== undefined && { alert_id }),
    created_at: iso(fleet.created_at_ms),
    finished_at: isoOrNull(fleet.finished_at_ms),
  } as const;
}
