import type { AgentRecord } from "../../../kv/records/agent.ts";
import type { CommandRecord, FleetCommandRecord } from "../../../kv/records/command.ts";
import { heldBy, type RequiredApprovals, requiredApprovals } from "../approvals/request.ts";
import { beginRecord } from "../commands/begin.ts";
import { judgeForAgent, type Judgement } from "../guard/judge.ts";
import type { ShieldInForce } from "../guard/in_force.ts";
import type { CommandParts } from "../commands/parts.ts";
import { forEach } from "../at_once.ts";

/** A command of a fleet command before it is recorded, as the shield judged it for its agent. */
export interface Planned {
  readonly agentName: string;
  /** Its row: waiting for its turn, or held. */
  readonly fresh: CommandRecord;
  readonly judgement: Judgement;
}

/** Held commands that need the same approvals. */
export interface HeldGroup {
  /** The id of their request. */
  readonly id: string;
  readonly needed: RequiredApprovals;
  readonly members: Planned[];
}

/** The commands of a fleet command, by what becomes of them first. */
export interface Plan {
  readonly allowed: readonly Planned[];
  readonly held: readonly HeldGroup[];
  readonly denied: readonly Planned[];
}

/** All commands: those that may start, the held ones, and those that the shield denies. */
export const membersOf = ({ allowed, held, denied }: Plan): Planned[] => [
  ...allowed,
  ...held.flatMap(({ members }) => members),
  ...denied,
];

/** The context of a judgement. */
type Judging = Parameters<typeof judgeForAgent>[0];

/** Judges a fleet command for each of its agents. */
export async function planCommands(
  work: Judging,
  parts: CommandParts,
  fleet: FleetCommandRecord,
  agents: readonly AgentRecord[],
  shield: ShieldInForce,
): Promise<Plan> {
  const planned: Planned[] = [];
  await forEach([...agents.entries()], async ([at, agent]) => {
    const judgement = await judgeForAgent(work, parts, fleet.command, agent, shield);
    const fresh = commandOf(work, fleet, agent, judgement, shield);
    planned[at] = { agentName: agent.name, fresh, judgement };
  });
  const groups = new Map<string, HeldGroup>();
  for (const one of planned) {
    if (one.judgement.result.verdict !== "approve") continue;
    const needed = requiredApprovals(shield, one.judgement.approvals);
    const key = JSON.stringify([needed.required, needed.roles]);
    const group = groups.get(key) ?? { id: work.ports.entropy.id("prc"), needed, members: [] };
    groups.set(key, group);
    group.members.push({ ...one, fresh: heldBy(group.id, one.fresh, shield) });
  }
  // The totals are counted from all of them, so none expires while others may still wait.
  const waitMs = groups.size > 0 ? shield.own.approvals.expires_seconds * 1000 : 0;
  const judged = (verdict: "allow" | "deny") =>
    planned.filter(({ judgement }) => judgement.result.verdict === verdict)
      .map((one) => ({
        ...one,
        fresh: { ...one.fresh, expires_at_ms: one.fresh.expires_at_ms + waitMs },
      }));
  return { allowed: judged("allow"), held: [...groups.values()], denied: judged("deny") };
}

function commandOf(
  { config, ports }: Judging,
  fleet: FleetCommandRecord,
  agent: AgentRecord,
  { result: shield, retentionDays }: Judgement,
  { version: policyVersion }: ShieldInForce,
): CommandRecord {
  const record = beginRecord({ config }, {
    id: ports.entropy.id("cmd"),
    agentId: agent.id,
    command: fleet.command,
    timeoutMs: fleet.timeout_ms,
    alertId: fleet.alert_id,
    actor: fleet.actor,
    requestId: fleet.request_id,
    policyVersion,
    createdAtMs: fleet.created_at_ms,
    shield,
    retentionDays,
    idempotency: null,
  });
  const { traceparent, mcp_grant_id } = fleet;
  return {
    ...record,
    ...traceparent !== undefined && { traceparent },
    ...mcp_grant_id !== undefined && { mcp_grant_id },
    parent_id: fleet.id,
    status: "queued",
    started_at_ms: null,
  };
}
