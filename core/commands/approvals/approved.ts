import type { Tenant } from "../../../kv/store/collection.ts";
import { approvals } from "../../../kv/records/approval.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { agents } from "../../../kv/records/agent.ts";
import type { App } from "../../work/work.ts";
import { shieldInForce } from "../guard/settings.ts";
import { changeSince, validApprovals } from "./changed.ts";

/**
 * The digest that people approved for a command and its agent; "", which no digest is, when they did
 * not, or under other settings than those of now, when the shield asks more by now, or when who asked
 * for it or approved it may not do so any more.
 */
export async function approvedDigest(
  app: App,
  tx: Tx,
  tenant: Tenant,
  command: CommandRecord | null,
): Promise<string> {
  const approval = await tx.get(approvals, tenant, command?.approval_id ?? "");
  const settings = await shieldInForce(tx, tenant);
  const holds = approval?.status === "approved" && approval.command_id === command?.id &&
    approval.agent_id === command.agent_id && approval.policy_version === command.policy_version &&
    approval.policy_version === settings.version;
  const agent = holds ? await tx.get(agents, tenant, approval.agent_id) : null;
  if (!holds || agent === null) return "";
  if ((await validApprovals(app, tx, tenant, approval)).length < approval.required) return "";
  const change = await changeSince(app, tx, tenant, approval, agent, settings);
  return change === null ? approval.command_sha256 : "";
}
