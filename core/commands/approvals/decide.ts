import { agents } from "../../../kv/records/agent.ts";
import { type ApprovalRecord, approvals, type Decision } from "../../../kv/records/approval.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import { haveInCommon, homeOf, type People, peopleBehind, without } from "../../access/access.ts";
import type { Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { withCommandId } from "../command_fault.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { type PoliciesInForce, shieldInForce } from "../guard/in_force.ts";
import { ownedApproval, showApproval, statusNow } from "./show.ts";
import { changeSince, validApprovals } from "./changed.ts";
import { resolveApproval } from "./resolve.ts";
import { addsNothing, requestersOf } from "./votes.ts";

/** A person's decision on a blocked process. */
export interface DecisionInput {
  readonly approve: boolean;
  readonly reason: string | null;
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
  { approve, reason }: DecisionInput,
) {
  const { actor, ports, tx } = work;
  const { tenant } = actor;
  mustBeOpen(approval, ports.clock.now());
  const decider = await tx.get(users, homeOf(tenant.org), actor.userId);
  const people = await peopleBehind(tx, actor);
  if (approve) mustBeOfOthers(work, approval, people);
  mustHaveRole(approval, decider);
  if (approve) {
    await mustBeFirst(work, approval, people);
    await mustStillHold(work, policies, approval);
  }
  const decision: Decision = {
    user_id: actor.userId,
    actor: actor.id,
    also_of: without(people, actor.userId),
    approve,
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
  if ((await validApprovals(work, tx, tenant, decided)).length >= approval.required) {
    const how = { status: "approved", reason, by: actor } as const;
    return await showApproval(work, await resolveApproval(work, tx, tenant, decided, how));
  }
  emit(work, tx, tenant, {
    type: "approval_given",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id,
    thread: approval.thread,
    details: {
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

function mustBeOpen(approval: ApprovalRecord, nowMs: number): void {
  const status = statusNow(approval, nowMs);
  if (status === "pending") return;
  throw new Fault("CONFLICT", `This request is already ${status}.`, { status });
}

/** The requester may not approve, by any credential that they may hold. */
function mustBeOfOthers({ actor }: Writing, approval: ApprovalRecord, people: People): void {
  const requesters = requestersOf(approval);
  if (approval.self_approval || !haveInCommon(requesters, people)) return;
  throw new Fault("FORBIDDEN", refusalOf(actor, approval, haveInCommon(requesters, [])));
}

function refusalOf({ userId }: Actor, approval: ApprovalRecord, byAnybody: boolean): string {
  if (approval.requested_user === userId) {
    return "You cannot approve your own request. Ask another approver, or allow it with " +
      "approvals.self_approval of PATCH /api/shield/settings.";
  }
  return byAnybody
    ? "Anyone may have made this request: it used a password that was reset, or a credential " +
      "made with it. Change the password or rotate the key, then request approval again."
    : "The requester may hold the same credential as you: an API key that another user made, " +
      "rotated or widened, a bot's secret, or a password that was reset. Use a credential that " +
      "only you hold: rotate the key, or change the password.";
}

function mustHaveRole({ roles }: ApprovalRecord, decider: UserRecord | null): void {
  if (roles.length > 0 && !roles.some((role) => decider?.roles.includes(role))) {
    throw new Fault("FORBIDDEN", `Only ${roles.join(" or ")} may decide this.`, { roles });
  }
}

/** Each person approves once, whatever credential they use. */
async function mustBeFirst(
  work: Writing,
  approval: ApprovalRecord,
  people: People,
): Promise<void> {
  if (!addsNothing(await validApprovals(work, work.tx, work.actor.tenant, approval), people)) {
    return;
  }
  throw new Fault(
    "CONFLICT",
    "You, or another holder of your credential, already approved this. It needs the approval " +
      "of another user.",
  );
}

/** Refuses an approval after the agent or the settings have changed: it applies to exactly those of the request. */
async function mustStillHold(
  { actor, ports, tx }: Writing,
  policies: PoliciesInForce,
  approval: ApprovalRecord,
): Promise<void> {
  const { tenant } = actor;
  const shield = await shieldInForce(tx, tenant);
  const agent = await tx.get(agents, tenant, approval.agent_id);
  const nowMs = ports.clock.now();
  const change = agent === null
    ? "the agent was deleted"
    : shield.version !== approval.policy_version
    ? "the shield's settings have changed"
    : await changeSince(tx, tenant, policies, { approval, agent, shield, nowMs });
  if (change === null) return;
  throw new Fault(
    "CONFLICT",
    `This request is no longer valid: ${change}. Request approval again.`,
    {
      status: "expired",
    },
  );
}
