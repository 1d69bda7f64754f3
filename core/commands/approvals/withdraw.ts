import { approvals } from "../../../kv/records/approval.ts";
import { type CommandRecord, commands } from "../../../kv/records/command.ts";
import type { Stepping } from "../../work/work.ts";
import { settleCommand } from "../settle.ts";
import { resolveApproval } from "./resolve.ts";

/**
 * Takes back a command that waits for an approval, or to be sent. Answers its record, or null when it
 * waits no more and has to be ended like any other.
 */
export async function withdrawCommand(
  work: Stepping,
  { id, agent_id: agentId, approval_id, status }: CommandRecord,
): Promise<CommandRecord | null> {
  const { app, actor } = work;
  const { tenant } = actor;
  if (status === "queued") {
    const open = { id, agentId, record: null, fresh: false, queued: true } as const;
    const settled = await settleCommand(app, tenant, { ...open, cancelledBy: actor.id }, {
      status: "cancelled",
    });
    return settled?.status === "cancelled" ? settled : null;
  }
  return await app.store.transact(async (tx) => {
    const approval = await tx.get(approvals, tenant, approval_id ?? "");
    if (approval?.status !== "pending") return null;
    await resolveApproval(work, tx, tenant, approval, {
      status: "expired",
      reason: `${actor.id} took it back`,
      by: null,
      withdrawn: true,
    });
    return await tx.get(commands, tenant, id);
  });
}
