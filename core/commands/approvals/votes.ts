import type { ApprovalRecord, Decision } from "../../../kv/records/approval.ts";
import { haveInCommon, isAmong, type People } from "../../access/keys/people_behind.ts";

/** Everybody who may have asked for a command. */
export const askersOf = (
  { requested_user, requested_also }: Pick<ApprovalRecord, "requested_user" | "requested_also">,
): People => [requested_user, ...requested_also];

/** Everybody whose decision it may be. */
const decidersOf = ({ user_id, also_of }: Pick<Decision, "user_id" | "also_of">): People => [
  user_id,
  ...also_of,
];

/**
 * The approvals that count: nobody gives two of them, and who may have asked gives none unless that is
 * allowed. Those that may be of the fewest people come first, since they exclude the fewest others.
 */
export function countedOf(
  approval: Pick<ApprovalRecord, "requested_user" | "requested_also" | "self_approval">,
  approvals: readonly Decision[],
): Decision[] {
  const counted: Decision[] = [];
  const taken: string[] = approval.self_approval ? [] : [...askersOf(approval)];
  const ordered = approvals.toSorted((a, b) => a.also_of.length - b.also_of.length);
  for (const decision of ordered) {
    if (haveInCommon(decidersOf(decision), taken)) continue;
    counted.push(decision);
    taken.push(...decidersOf(decision));
  }
  return counted;
}

/** Whether an approval by these people adds nothing to one that counts. */
export const addsNothing = (counted: readonly Decision[], people: People): boolean =>
  counted.some((decision) => isAmong(decidersOf(decision), people));
