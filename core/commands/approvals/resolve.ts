import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import { commands } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor, App, RequestInfo } from "../../work/work.ts";
import { waitStatistic } from "../../events/statistics.ts";
import { countWaiting } from "./count.ts";
import { emit } from "../../events/events.ts";
import { iso } from "../../codec/instant.ts";
import { textForEvent } from "../text.ts";
import { START_WITHIN_MS, startQueued } from "../queued.ts";

/** How a request ends. */
export interface Resolution {
  readonly status: "approved" | "rejected" | "expired";
  /** What people read in the record and in the event. */
  readonly reason: string | null;
  /** Who decided, null when it lapsed. */
  readonly by: Pick<Actor, "id"> | null;
  /** True when the caller took the command back. */
  readonly withdrawn?: true;
}

type Deciding = {
  readonly ports: App["ports"];
  readonly signals: App["signals"];
  readonly app: App;
  readonly actor: Pick<Actor, "id">;
  readonly request?: RequestInfo;
};

/** Ends a request together with its command: an approved one is sent as soon as that is durable. */
export async function resolveApproval(
  work: Deciding,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  { status, reason, by, withdrawn }: Resolution,
): Promise<ApprovalRecord> {
  const { app } = work;
  const now = app.ports.clock.now();
  const count = (name: string) => tx.afterCommit(() => app.activity.count(tenant, name));
  const resolved = tx.put(approvals, tenant, { ...approval, status, reason, resolved_at_ms: now });
  if (approval.status === "pending") {
    countWaiting(tx, tenant, -1);
    if (status !== "expired") count(waitStatistic(now - approval.created_at_ms));
  }
  const command = await tx.get(commands, tenant, approval.command_id);
  if (command?.status === "pending_approval") {
    if (status === "approved") {
      tx.put(commands, tenant, {
        ...command,
        status: "queued",
        start_before_ms: now + START_WITHIN_MS,
      });
      tx.afterCommit(() => startQueued(app, tenant, approval.agent_id));
    } else {
      const ended = withdrawn ? "cancelled" : status;
      tx.put(commands, tenant, { ...command, status: ended, reason, finished_at_ms: now });
      count(`commands.${ended}`);
    }
  }
  emit(work, tx, tenant, {
    type: "approval_resolved",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id,
    details: {
      ...textForEvent(approval.command),
      command_id: approval.command_id,
      decided_at: iso(now),
      decided_by: by?.id ?? null,
      decision: status,
      pid: approval.id,
      reason,
      requested_by: approval.requested_by,
    },
  });
  return resolved;
}
