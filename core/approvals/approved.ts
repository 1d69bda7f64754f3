import type { Tenant } from "../../kv/collection.ts";
import { approvals } from "../../kv/records/approval.ts";
import type { CommandRecord } from "../../kv/records/command.ts";
import type { Tx } from "../../kv/tx.ts";
import { shieldInForce } from "../shield/settings.ts";

/** The digest that people approved for a command and its agent; "", which no digest is, when they did
 * not, or under other settings than those of now. */
export async function approvedDigest(
  tx: Tx,
  tenant: Tenant,
  command: CommandRecord | null,
): Promise<string> {
  const approval = await tx.get(approvals, tenant, command?.approval_id ?? "");
  const { version } = await shieldInForce(tx, tenant);
  const holds = approval?.status === "approved" && approval.command_id === command?.id &&
    approval.agent_id === command.agent_id && approval.policy_version === command.policy_version &&
    approval.policy_version === version;
  return holds ? approval.command_sha256 : "";
}
