import type { PoliciesInForce } from "../guard/in_force.ts";
import type { Work } from "../../work/work.ts";
import { callerDecision } from "./may_decide.ts";
import { ownedApproval, showApproval } from "./show.ts";

/** A request for approval, with what the caller may decide about it. @throws {Fault} NOT_FOUND */
export async function getApproval(work: Work, policies: PoliciesInForce, id: string) {
  const approval = await ownedApproval(work, id);
  return {
    ...await showApproval(work, approval),
    caller: await callerDecision(work, policies, approval),
  };
}
