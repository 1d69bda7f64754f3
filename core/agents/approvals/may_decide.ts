import { agents } from "../../../kv/records/agent.ts";
import type { ApprovalRecord } from "../../../kv/records/approval.ts";
import { users } from "../../../kv/records/user.ts";
import { homeOf, type People, peopleBehind } from "../../access/access.ts";
import { Fault } from "../../fault/fault.ts";
import type { Work } from "../../work/work.ts";
import { type PoliciesInForce, shieldInForce } from "../guard/in_force.ts";
import { changeSince, validApprovals } from "./changed.ts";
import { isSelfApproval, type NextStep } from "./own_request.ts";
import { ownedApproval, showApproval, statusNow } from "./show.ts";
import { addsNothing } from "./votes.ts";

/** What the caller may decide about a request now. */
interface CallerDecision {
  readonly may_approve: boolean;
  readonly may_reject: boolean;
  /** What the only member does to approve their own request; null when that is not the case. */
  readonly next: NextStep | null;
  /** Why they may not approve, and what to do; null when they may. */
  readonly why_not: string | null;
}

/** What the caller may decide, by the same checks as a decision. */
async function callerDecision(
  work: Work,
  policies: PoliciesInForce,
  approval: ApprovalRecord,
): Promise<CallerDecision> {
  const { actor, db } = work;
  if (!actor.rights.has("approvals:write")) {
    const why_not = "You need the right approvals:write to decide this.";
    return { may_approve: false, may_reject: false, next: null, why_not };
  }
  const people = await peopleBehind(db, actor);
  const refused = await refusal(() => mustMayApprove(work, policies, approval, people, false));
  const next = refused?.details["next"] as NextStep | undefined;
  return {
    may_approve: refused === null,
    may_reject: await refusal(() => mustMayReject(work, approval)) === null,
    next: next ?? null,
    why_not: refused?.message ?? null,
  };
}

/** A request for approval, with what the caller may decide about it. @throws {Fault} NOT_FOUND */
export async function getApproval(work: Work, policies: PoliciesInForce, id: string) {
  const approval = await ownedApproval(work, id);
  return {
    ...await showApproval(work, approval),
    caller: await callerDecision(work, policies, approval),
  };
}

async function refusal(check: () => Promise<unknown>): Promise<Fault | null> {
  try {
    await check();
    return null;
  } catch (error) {
    if (error instanceof Fault) return error;
    throw error;
  }
}

/** Checks a rejection. @throws {Fault} CONFLICT, FORBIDDEN */
export async function mustMayReject(work: Work, approval: ApprovalRecord): Promise<void> {
  mustBeOpen(approval, work.ports.clock.now());
  await mustHaveRole(work, approval);
}

/**
 * Checks an approval by these people; true when it may be of their own request.
 * @throws {Fault} CONFLICT, FORBIDDEN
 */
export async function mustMayApprove(
  work: Work,
  policies: PoliciesInForce,
  approval: ApprovalRecord,
  people: People,
  confirmed: boolean,
): Promise<boolean> {
  mustBeOpen(approval, work.ports.clock.now());
  const isOwn = await isSelfApproval(work, approval, people, confirmed);
  await mustHaveRole(work, approval);
  await mustBeFirst(work, approval, people);
  await mustStillHold(work, policies, approval);
  return isOwn;
}

function mustBeOpen(approval: ApprovalRecord, nowMs: number): void {
  const status = statusNow(approval, nowMs);
  if (status === "pending") return;
  throw new Fault("CONFLICT", `This request is already ${status}.`, { status });
}

async function mustHaveRole({ actor, db }: Work, { roles }: ApprovalRecord): Promise<void> {
  if (roles.length === 0) return;
  const decider = await db.get(users, homeOf(actor.tenant.org), actor.userId);
  if (roles.some((role) => decider?.roles.includes(role))) return;
  throw new Fault("FORBIDDEN", `Only ${roles.join(" or ")} may decide this.`, { roles });
}

/** Each person approves once, whatever credential they use. */
async function mustBeFirst(
  work: Work,
  approval: ApprovalRecord,
  people: People,
): Promise<void> {
  const { actor: { tenant }, db } = work;
  if (!addsNothing(await validApprovals(work, db, tenant, approval), people)) return;
  throw new Fault(
    "CONFLICT",
    "You, or another holder of your credential, already approved this. It needs the approval " +
      "of another user.",
  );
}

/** Refuses an approval after the agent or the settings have changed: it applies to exactly those of the request. */
async function mustStillHold(
  { actor, db, ports }: Work,
  policies: PoliciesInForce,
  approval: ApprovalRecord,
): Promise<void> {
  const { tenant } = actor;
  const shield = await shieldInForce(db, tenant);
  const nowMs = ports.clock.now();
  const { agent_id, policy_version } = approval;
  const agent = agent_id === null ? null : await db.get(agents, tenant, agent_id);
  const change = shield.version !== policy_version
    ? "the shield's settings have changed"
    : agent !== null
    ? await changeSince(db, tenant, policies, { approval, agent, shield, nowMs })
    // The agents of a fleet command are examined one by one, each before its command is sent.
    : agent_id === null
    ? null
    : "the agent was deleted";
  if (change === null) return;
  throw new Fault(
    "CONFLICT",
    `This request is no longer valid: ${change}. Request approval again.`,
    {
      status: "expired",
    },
  );
}
