import type { Tenant } from "../../kv/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { ApprovalRecord } from "../../kv/records/approval.ts";
import { users } from "../../kv/records/user.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import { decide } from "../shield/decide.ts";
import { examineCommand } from "../shield/examine.ts";
import { type Needed, neededOf } from "./request.ts";
import { modeFor, policiesFor, type ShieldInForce } from "../shield/settings.ts";

/**
 * What the shield asks by now of a command that waits, and would not be met; null when it holds as it is. The
 * agent may have other labels than when it was asked for, its asker other roles, and the hour is another one.
 */
export async function changeSince(
  app: App,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  { id, labels }: AgentRecord,
  shield: ShieldInForce,
): Promise<string | null> {
  const merged = await policiesFor(app, tenant, shield, labels);
  if (modeFor(shield, merged, id) !== "enforce") return null;
  const { command, requested_by, requested_user } = approval;
  const asker = await tx.get(users, { org: tenant.org, space: "live" }, requested_user);
  const who = { userId: requested_user, actorId: requested_by, roles: asker?.roles ?? [] };
  const atMs = app.ports.clock.now();
  const { result, approvals } = decide(examineCommand(command), merged.policy, {
    labels,
    who,
    atMs,
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
