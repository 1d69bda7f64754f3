import type { Tenant } from "../../kv/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { ApprovalRecord } from "../../kv/records/approval.ts";
import { users } from "../../kv/records/user.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import { inspectCommand } from "../shield/inspect.ts";
import { modeFor, policiesFor, type ShieldInForce } from "../shield/settings.ts";

/**
 * Whether the shield would refuse by now what waits: the agent may have other labels than when it was
 * asked for, its asker other roles, and the hour is another one.
 */
export async function isRefusedNow(
  app: App,
  tx: Tx,
  tenant: Tenant,
  { command, requested_by, requested_user }: ApprovalRecord,
  { id, labels }: AgentRecord,
  shield: ShieldInForce,
): Promise<boolean> {
  const merged = await policiesFor(app, tenant, shield, labels);
  if (modeFor(shield, merged, id) !== "enforce") return false;
  const asker = await tx.get(users, { org: tenant.org, space: "live" }, requested_user);
  const who = { userId: requested_user, actorId: requested_by, roles: asker?.roles ?? [] };
  const atMs = app.ports.clock.now();
  const { policy } = merged;
  return inspectCommand(command, { labels, policy, who, atMs }).verdict === "deny";
}
