import { hash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApprovalRecord, approvals, approvedAgents } from "../../../kv/records/approval.ts";
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
  const holds = approval?.status === "approved" && command !== null &&
    await covers(context.store, tenant, approval, command) &&
    approval.policy_version === command.policy_version &&
    approval.policy_version === shield.version;
  const agent = holds ? await tx.get(agents, tenant, command.agent_id) : null;
  if (!holds || agent === null) return "";
  if ((await validApprovals(context, tx, tenant, approval)).length < approval.required) return "";
  const nowMs = context.ports.clock.now();
  const change = await changeSince(tx, tenant, policies, { approval, agent, shield, nowMs });
  return change === null ? approval.command_sha256 : "";
}

/** Whether a request is for this command: for it alone, or for the fleet command and exactly the agents it names. */
async function covers(
  store: Context["store"],
  tenant: Tenant,
  { id, agent_id, agents, command_id }: ApprovalRecord,
  command: CommandRecord,
): Promise<boolean> {
  if (agents === undefined) return command_id === command.id && agent_id === command.agent_id;
  // Read outside the transaction, because a shared store limits its checks. The list never changes.
  const listed = await store.get(approvedAgents, tenant, id);
  return command_id === command.parent_id && listed !== null &&
    agentsSha256(listed.agent_ids) === agents.sha256 &&
    listed.agent_ids.includes(command.agent_id);
}

/** The digest of agents' ids in ascending order. */
export const agentsSha256 = (ids: readonly string[]): string => hash("sha256", ids.join("\n"));
