import { type ApprovalRecord, approvals, type Decision } from "../../../kv/records/approval.ts";
import { peopleBehind, without } from "../../access/access.ts";
import type { Writing } from "../../work/work.ts";
import { withCommandId } from "../commands/command_fault.ts";
import { emit } from "../../events/events.ts";
import type { PoliciesInForce } from "../guard/in_force.ts";
import { validApprovals } from "./changed.ts";
import { mustMayApprove, mustMayReject } from "./may_decide.ts";
import { agentsOf } from "./request.ts";
import { resolveApproval } from "./resolve.ts";
import { ownedApproval, showApproval } from "./show.ts";

/** A person's decision on a blocked process. */
export interface DecisionInput {
  readonly approve: boolean;
  readonly reason: string | null;
  /** Whether the only member of an organization confirms that they approve their own request. */
  readonly confirmSelfApproval?: boolean;
}

/**
 * Records a person's decision. One rejection ends the request; the required number of approvals sends the command.
 * @throws {Fault} NOT_FOUND, CONFLICT when it is decided, lapsed or outdated, FORBIDDEN when the caller may not decide it
 */
export async function decideApproval(
  work: Writing,
  policies: PoliciesInForce,
  id: string,
  decision: DecisionInput,
) {
  const approval = await ownedApproval(work, id);
  return await withCommandId(approval.command_id, () => decide(work, policies, approval, decision));
}

async function decide(
  work: Writing,
  policies: PoliciesInForce,
  approval: ApprovalRecord,
  { approve, reason, confirmSelfApproval = false }: DecisionInput,
) {
  const { actor, ports, tx } = work;
  const { tenant } = actor;
  const people = await peopleBehind(tx, actor);
  const self_approved = approve &&
    await mustMayApprove(work, policies, approval, people, confirmSelfApproval);
  if (!approve) await mustMayReject(work, approval);
  const decision: Decision = {
    user_id: actor.userId,
    actor: actor.id,
    also_of: without(people, actor.userId),
    approve,
    self_approved,
    reason,
    at_ms: ports.clock.now(),
  };
  // An earlier approval of theirs that no longer counts is replaced.
  const others = approval.decisions.filter(({ user_id }) => user_id !== actor.userId);
  const earlier = approve ? others : approval.decisions;
  const decided = { ...approval, decisions: [...earlier, decision] };
  if (!approve) {
    const how = { status: "rejected", reason, by: actor } as const;
    return await showApproval(work, await resolveApproval(work, tx, tenant, decided, how));
  }
  if (self_approved) emitSelfApproval(work, approval, reason);
  if ((await validApprovals(work, tx, tenant, decided)).length >= approval.required) {
    const how = { status: "approved", reason, by: actor } as const;
    return await showApproval(work, await resolveApproval(work, tx, tenant, decided, how));
  }
  emit(work, tx, tenant, {
    type: "approval_given",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id ?? undefined,
    thread: approval.thread,
    details: {
      ...agentsOf(approval),
      pid: approval.id,
      command_id: approval.command_id,
      decided_by: actor.id,
      requested_by: approval.requested_by,
      reason,
      required: approval.required,
    },
  });
  return await showApproval(work, tx.put(approvals, tenant, decided));
}

function emitSelfApproval(
  work: Writing,
  { id, agent_id, agents, command_id, requested_by, self_approval }: ApprovalRecord,
  reason: string | null,
): void {
  const { actor, tx } = work;
  emit(work, tx, actor.tenant, {
    type: "self_approval_given",
    resource: { type: "approval", id },
    agentId: agent_id ?? undefined,
    details: {
      ...agentsOf({ agents }),
      pid: id,
      command_id,
      decided_by: actor.id,
      requested_by,
      reason,
      allowed_by: self_approval ? "settings" : "sole_member",
    },
  });
}
