import { agents } from "../../../kv/records/agent.ts";
import { type ApprovalRecord, approvals, type Decision } from "../../../kv/records/approval.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import {
  haveInCommon,
  type People,
  peopleBehind,
  without,
} from "../../access/keys/people_behind.ts";
import type { Actor, Writing } from "../../work/work.ts";
import { aboutCommand } from "../about.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { homeOf } from "../../access/roles/grant.ts";
import { shieldInForce } from "../guard/settings.ts";
import { ownedApproval, showApproval, statusNow } from "./show.ts";
import { changeSince, validApprovals } from "./changed.ts";
import { resolveApproval } from "./resolve.ts";
import { addsNothing, askersOf } from "./votes.ts";

/** What a person says of a blocked process. */
export interface Answer {
  readonly approve: boolean;
  readonly reason: string | null;
}

/**
 * Takes a person's answer. One rejection ends the request; as many approvals as it needs send the command.
 * @throws {Fault} NOT_FOUND, CONFLICT when it is decided, lapsed or outdated, FORBIDDEN for who may not decide it
 */
export async function decideApproval(work: Writing, id: string, answer: Answer) {
  const approval = await ownedApproval(work, id);
  return await aboutCommand(approval.command_id, () => decide(work, approval, answer));
}

async function decide(work: Writing, approval: ApprovalRecord, { approve, reason }: Answer) {
  const { app, actor, tx } = work;
  const { tenant } = actor;
  mustBeOpen(approval, app.ports.clock.now());
  const decider = await tx.get(users, homeOf(tenant.org), actor.userId);
  const people = await peopleBehind(tx, actor);
  if (approve) mustBeOfOthers(work, approval, people);
  mustHaveRole(approval, decider);
  if (approve) {
    await mustBeFirst(work, approval, people);
    await mustStillHold(work, approval);
  }
  const decision: Decision = {
    user_id: actor.userId,
    actor: actor.id,
    also_of: without(people, actor.userId),
    approve,
    reason,
    at_ms: app.ports.clock.now(),
  };
  // What of theirs counts no more makes room.
  const others = approval.decisions.filter(({ user_id }) => user_id !== actor.userId);
  const earlier = approve ? others : approval.decisions;
  const decided = { ...approval, decisions: [...earlier, decision] };
  if (!approve) {
    const how = { status: "rejected", reason, by: actor } as const;
    return await showApproval(work, await resolveApproval(work, tx, tenant, decided, how));
  }
  if ((await validApprovals(app, tx, tenant, decided)).length >= approval.required) {
    const how = { status: "approved", reason, by: actor } as const;
    return await showApproval(work, await resolveApproval(work, tx, tenant, decided, how));
  }
  emit(work, tx, tenant, {
    type: "approval_given",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id,
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
  throw new Fault("CONFLICT", `This request is over: it is ${status}.`, { status });
}

/** Whoever asked approves by no credential that they may hold. */
function mustBeOfOthers({ actor }: Writing, approval: ApprovalRecord, people: People): void {
  const askers = askersOf(approval);
  if (approval.self_approval || !haveInCommon(askers, people)) return;
  throw new Fault("FORBIDDEN", refusalOf(actor, approval, haveInCommon(askers, [])));
}

function refusalOf({ userId }: Actor, approval: ApprovalRecord, byAnybody: boolean): string {
  if (approval.requested_user === userId) {
    return "Nobody approves their own request here. Ask somebody else, or allow it: " +
      "approvals.self_approval of PATCH /api/shield/settings.";
  }
  return byAnybody
    ? "Anybody may have asked for this: it was asked with a password that was reset, or with what was " +
      "made by it. Change the password or rotate the key, and ask again."
    : "Whoever asked for this may hold the same credential: an API key that somebody else made, " +
      "rotated or widened, a bot's secret, or a password that was reset. Use one that only you hold: " +
      "rotate the key, or change the password.";
}

function mustHaveRole({ roles }: ApprovalRecord, decider: UserRecord | null): void {
  if (roles.length > 0 && !roles.some((role) => decider?.roles.includes(role))) {
    throw new Fault("FORBIDDEN", `Only ${roles.join(" or ")} may decide this.`, { roles });
  }
}

/** Each person's approval counts once, by whatever credential. */
async function mustBeFirst(
  { app, tx, actor }: Writing,
  approval: ApprovalRecord,
  people: People,
): Promise<void> {
  if (!addsNothing(await validApprovals(app, tx, actor.tenant, approval), people)) return;
  throw new Fault(
    "CONFLICT",
    "You, or somebody who may hold your credential, approved this already. It waits for somebody else.",
  );
}

/** An approval is of these bytes, for this agent, under these settings. */
async function mustStillHold({ app, tx, actor }: Writing, approval: ApprovalRecord): Promise<void> {
  const settings = await shieldInForce(tx, actor.tenant);
  const agent = await tx.get(agents, actor.tenant, approval.agent_id);
  const change = agent === null
    ? "the agent is gone"
    : settings.version !== approval.policy_version
    ? "the shield's settings have changed"
    : await changeSince(app, tx, actor.tenant, approval, agent, settings);
  if (change === null) return;
  throw new Fault("CONFLICT", `This request does not hold any more: ${change}. Ask again.`, {
    status: "expired",
  });
}
