import type { ApprovalRecord, Decision } from "../../../kv/records/approval.ts";
import { haveInCommon, isAmong, type People } from "../../access/access.ts";

/** Everybody who may have requested a command: the requester, and whoever may hold the same credential. */
export const requestersOf = (
  { requested_user, requested_also }: Pick<ApprovalRecord, "requested_user" | "requested_also">,
): People => [requested_user, ...requested_also];

/** Everybody who may have made a decision. */
const decidersOf = ({ user_id, also_of }: Pick<Decision, "user_id" | "also_of">): People => [
  user_id,
  ...also_of,
];

/**
 * The approvals that count: at most one of each person, and of a possible requester only a self-approval.
 * Approvals that the fewest people may have given count first, since they exclude the fewest others.
 */
export function countedOf(
  approval: Pick<ApprovalRecord, "requested_user" | "requested_also" | "self_approval">,
  approvals: readonly Decision[],
): Decision[] {
  const counted: Decision[] = [];
  const requesters = approval.self_approval ? [] : requestersOf(approval);
  const taken: string[] = [];
  const ordered = approvals.toSorted((a, b) => a.also_of.length - b.also_of.length);
  for (const decision of ordered) {
    const deciders = decidersOf(decision);
    if (haveInCommon(deciders, taken)) continue;
    if (!decision.self_approved && haveInCommon(deciders, requesters)) continue;
    counted.push(decision);
    taken.push(...deciders);
  }
  return counted;
}

/** Whether an approval by these people adds nothing: they include everybody who may have given a counted one. */
export const addsNothing = (counted: readonly Decision[], people: People): boolean =>
  counted.some((decision) => isAmong(decidersOf(decision), people));
