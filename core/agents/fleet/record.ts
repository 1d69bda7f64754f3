import { approvedAgents } from "../../../kv/records/approval.ts";
import { commands, type FleetCommandRecord, fleetCommands } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Stepping } from "../../work/work.ts";
import { agentsSha256 } from "../approvals/approved.ts";
import { insertApproval } from "../approvals/request.ts";
import { insertDenied } from "../commands/denial.ts";
import type { ShieldInForce } from "../guard/in_force.ts";
import { textForEvent } from "../commands/text.ts";
import { forEach } from "../at_once.ts";
import { type HeldGroup, membersOf, type Plan, type Planned } from "./plan.ts";

/** The bytes of rows that one commit holds at most, and how many. */
const [COMMIT_BYTES, COMMIT_ROWS] = [400_000, 64];
/** The names of agents that the event of a request holds. */
const NAMES_MAX = 10;
/** The size of a row beside its command. */
const ROW_BYTES = 2_000;

/** Records all commands. None starts before the last one is recorded. */
export async function recordCommands(
  work: Stepping,
  fleet: FleetCommandRecord,
  plan: Plan,
): Promise<void> {
  const { actor: { tenant }, store } = work;
  const { denied } = plan;
  const waiting = membersOf({ ...plan, denied: [] });
  await forEach(waiting, ({ fresh, judgement }) => judgement.note(fresh.id));
  const rows = COMMIT_BYTES / (ROW_BYTES + 2 * fleet.command.length);
  const size = Math.max(1, Math.min(COMMIT_ROWS, Math.floor(rows)));
  for (let at = 0; at < waiting.length; at += size) {
    await store.transact(async (tx) => {
      await mustBePreparing(work, tx, fleet);
      for (const { fresh } of waiting.slice(at, at + size)) tx.insert(commands, tenant, fresh);
    });
  }
  await forEach(denied, ({ fresh, judgement }) =>
    store.transact(async (tx) => {
      await mustBePreparing(work, tx, fleet);
      await insertDenied(work, tx, fresh, judgement);
    }));
}

/** Another instance may have taken this one for dead, and ended the preparation. @throws {Fault} UNAVAILABLE */
async function mustBePreparing(
  { actor: { tenant } }: Stepping,
  tx: Tx,
  { id, owner }: FleetCommandRecord,
): Promise<FleetCommandRecord> {
  const now = await tx.get(fleetCommands, tenant, id);
  if (now?.status === "preparing" && now.owner === owner) return now;
  throw new Fault("UNAVAILABLE", "The relay took too long to record all commands. Try again.");
}

/** Releases a recorded fleet command, with its requests for approval, in one commit. */
export async function activate(
  work: Stepping,
  fleet: FleetCommandRecord,
  plan: Plan,
  shield: ShieldInForce,
): Promise<FleetCommandRecord> {
  const { actor: { tenant, userId }, store } = work;
  const { held } = plan;
  return await store.transact(async (tx) => {
    const now = await mustBePreparing(work, tx, fleet);
    for (const group of held) await requestApproval(work, tx, fleet, group, shield);
    emit(work, tx, tenant, {
      type: "fleet_command_started",
      resource: { type: "fleet_command", id: fleet.id },
      thread: fleet.alert_id,
      details: {
        ...textForEvent(fleet.command),
        agents: fleet.total,
        agents_sha256: agentsSha256(agentIds(membersOf(plan))),
        parallel: fleet.parallel,
        stop_after_failures: fleet.stop_after_failures,
        user: userId,
      },
    });
    work.recordUse(tx, 202);
    const approvals = held.map(({ id }) => id);
    return tx.put(fleetCommands, tenant, { ...now, status: "running", approvals });
  });
}

const agentIds = (members: readonly Planned[]): string[] =>
  members.map(({ fresh }) => fresh.agent_id).sort();

/** One request for the commands that need the same approvals, bound to their agents. */
async function requestApproval(
  work: Stepping,
  tx: Tx,
  fleet: FleetCommandRecord,
  { id, needed, members }: HeldGroup,
  shield: ShieldInForce,
): Promise<void> {
  const agent_ids = agentIds(members);
  const worst = members.map(({ judgement }) => judgement.result)
    .reduce((a, b) => b.risk_score > a.risk_score ? b : a);
  const thread = fleet.alert_id === undefined
    ? {}
    : { alert_id: fleet.alert_id, thread: fleet.alert_id };
  const approval = await insertApproval(work, tx, {
    id,
    command_id: fleet.id,
    agent_id: null,
    agents: { count: agent_ids.length, sha256: agentsSha256(agent_ids) },
    agent_names: members.slice(0, NAMES_MAX).map(({ agentName }) => agentName),
    command: fleet.command,
    shield_result: worst,
    ...thread,
    created_at_ms: fleet.created_at_ms,
    expires_at_ms: fleet.expires_at_ms,
  }, { shield, needed });
  const list = { id, agent_ids, expires_at_ms: approval.purge_at_ms };
  tx.insert(approvedAgents, work.actor.tenant, list);
}
