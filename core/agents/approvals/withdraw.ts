import { approvals } from "../../../kv/records/approval.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Stepping } from "../../work/work.ts";
import { settleCommand } from "../commands/settle.ts";
import { resolveApproval } from "./resolve.ts";

/**
 * Withdraws a command that waits for approval or to be sent. Returns its record, or null when it no longer
 * waits and must be cancelled on its agent.
 */
export async function withdrawCommand(
  work: Stepping,
  { id, agent_id: agentId, approval_id, parent_id, status }: CommandRecord,
): Promise<CommandRecord | null> {
  const { actor, store } = work;
  const { tenant } = actor;
  // The request of a fleet command goes on for its other commands.
  if (status === "queued" || parent_id !== undefined) {
    const open = { id, agentId, record: null, fresh: false, from: [status] } as const;
    const settled = await settleCommand(work, tenant, { ...open, cancelledBy: actor.id }, {
      status: "cancelled",
    });
    if (parent_id !== undefined) work.signals.fleetCommandChanged.send({ tenant, id: parent_id });
    return settled?.status === "cancelled" ? settled : null;
  }
  return await store.transact(async (tx) => {
    const approval = await tx.get(approvals, tenant, approval_id ?? "");
    if (approval?.status !== "pending") return null;
    await resolveApproval(work, tx, tenant, approval, {
      status: "expired",
      reason: `${actor.id} withdrew it`,
      by: null,
      withdrawn: true,
    });
    return await tx.get(commands, tenant, id);
  });
}
