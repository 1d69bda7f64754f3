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
 * The approvals that count: at most one of each person, and none of a possible requester unless self-approval is
 * allowed. Approvals that the fewest people may have given count first, since they exclude the fewest others.
 */
export function countedOf(
  approval: Pick<ApprovalRecord, "requested_user" | "requested_also" | "self_approval">,
  approvals: readonly Decision[],
): Decision[] {
  const counted: Decision[] = [];
  const taken: string[] = approval.self_approval ? [] : [...requestersOf(approval)];
  const ordered = approvals.toSorted((a, b) => a.also_of.length - b.also_of.length);
  for (const decision of ordered) {
    if (haveInCommon(decidersOf(decision), taken)) continue;
    counted.push(decision);
    taken.push(...decidersOf(decision));
  }
  return counted;
}

/** Whether an approval by these people adds nothing: they include everybody who may have given a counted one. */
export const addsNothing = (counted: readonly Decision[], people: People): boolean =>
  counted.some((decision) => isAmong(decidersOf(decision), people));
