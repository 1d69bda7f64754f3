import type { Tenant } from "../../../kv/store/collection.ts";
import { approvals } from "../../../kv/records/approval.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { agents } from "../../../kv/records/agent.ts";
import type { Context } from "../../context/context.ts";
import { type PoliciesInForce, shieldInForce } from "../guard/in_force.ts";
import { changeSince, validApprovals } from "./changed.ts";

/**
 * The digest that people approved for a command and its agent. It is empty when no approval holds any more, for
 * example because the settings changed, the shield demands more, or the requester or an approver lost the right.
 */
export async function approvedDigest(
  context: Pick<Context, "store" | "ports">,
  policies: PoliciesInForce,
  tx: Tx,
  tenant: Tenant,
  command: CommandRecord | null,
): Promise<string> {
  const approval = await tx.get(approvals, tenant, command?.approval_id ?? "");
  const shield = await shieldInForce(tx, tenant);
  const holds = approval?.status === "approved" && approval.command_id === command?.id &&
    approval.agent_id === command.agent_id && approval.policy_version === command.policy_version &&
    approval.policy_version === shield.version;
  const agent = holds ? await tx.get(agents, tenant, approval.agent_id) : null;
  if (!holds || agent === null) return "";
  if ((await validApprovals(context, tx, tenant, approval)).length < approval.required) return "";
  const nowMs = context.ports.clock.now();
  const change = await changeSince(tx, tenant, policies, { approval, agent, shield, nowMs });
  return change === null ? approval.command_sha256 : "";
}
