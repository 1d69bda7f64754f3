import type { Tenant } from "../../kv/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { ApprovalRecord } from "../../kv/records/approval.ts";
import { users } from "../../kv/records/user.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import { homeOf, personRights, rightsToGive } from "../roles/grant.ts";
import { decide } from "../shield/decide.ts";
import { examineCommand } from "../shield/examine.ts";
import { type Needed, neededOf } from "./request.ts";
import { modeFor, policiesFor, type ShieldInForce } from "../shield/settings.ts";

/**
 * Why a command that waits does not hold by now; null when it holds as it is. Its asker may have no right to
 * run it any more, or other roles, the agent other labels, and the hour is another one.
 */
export async function changeSince(
  app: App,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  { id, labels }: AgentRecord,
  shield: ShieldInForce,
): Promise<string | null> {
  const { command, requested_by, requested_user } = approval;
  const keyId = requested_by === requested_user ? null : requested_by;
  const nowMs = app.ports.clock.now();
  const rights = await rightsToGive(tx, tenant, { userId: requested_user, keyId }, nowMs);
  if (!rights.has("agents:write")) return "who asked for it may not run it any more";
  const merged = await policiesFor(app, tenant, shield, labels);
  if (modeFor(shield, merged, id) !== "enforce") return null;
  const asker = await tx.get(users, homeOf(tenant.org), requested_user);
  const who = { userId: requested_user, actorId: requested_by, roles: asker?.roles ?? [] };
  const { result, approvals } = decide(examineCommand(command), merged.policy, {
    labels,
    who,
    atMs: nowMs,
  });
  if (result.verdict === "deny") return "the shield refuses it by now";
  if (result.verdict === "allow") return null;
  return isEnough(approval, neededOf(shield, approvals))
    ? null
    : "it needs more approvals, or others, by now";
}

/** Whether who may approve a request, and how many must, is as strict as what is needed. */
const isEnough = (asked: Needed, needed: Needed): boolean =>
  asked.required >= needed.required &&
  (needed.roles.length === 0 ||
    asked.roles.length > 0 && asked.roles.every((role) => needed.roles.includes(role)));

/** How many have approved who may still do so. */
export async function countValid(
  tx: Tx,
  { org }: Tenant,
  { decisions, roles }: ApprovalRecord,
): Promise<number> {
  let valid = 0;
  for (const { user_id, approve } of decisions) {
    const user = await tx.get(users, homeOf(org), user_id);
    const has = (await personRights(tx, org, user_id)).has("approvals:write");
    const fits = roles.length === 0 || roles.some((role) => user?.roles.includes(role));
    if (approve && has && fits) valid++;
  }
  return valid;
}
