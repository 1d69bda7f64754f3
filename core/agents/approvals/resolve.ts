import type { Tenant } from "../../../kv/store/collection.ts";
import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import { commands } from "../../../kv/records/command.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Actor, RequestInfo } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { countWaiting } from "./count.ts";
import { agentsOf } from "./request.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { iso } from "../../codec/codec.ts";
import { textForEvent } from "../commands/text.ts";
import { START_WITHIN_MS } from "../commands/start_window.ts";

/** How a request ends. */
export interface Resolution {
  readonly status: "approved" | "rejected" | "expired";
  /** Shown in the record and in the event. */
  readonly reason: string | null;
  /** Who decided; null when it lapsed. */
  readonly by: Pick<Actor, "id"> | null;
  /** True when the caller withdrew the command. */
  readonly withdrawn?: true;
}

interface Deciding extends Pick<Context, "ports" | "signals"> {
  /** Without one, Relay itself ends the request. */
  readonly actor?: Pick<Actor, "id">;
  readonly request?: RequestInfo;
}

/** Ends a request together with its command; an approved command is sent after the commit. */
export async function resolveApproval(
  work: Deciding,
  tx: Tx,
  tenant: Tenant,
  approval: ApprovalRecord,
  { status, reason, by, withdrawn }: Resolution,
): Promise<ApprovalRecord> {
  const { ports, signals } = work;
  const now = ports.clock.now();
  const resolved = tx.put(approvals, tenant, { ...approval, status, reason, resolved_at_ms: now });
  const wasPending = approval.status === "pending";
  if (wasPending) countWaiting(tx, tenant, -1);
  const waitedMs = wasPending && status !== "expired" ? now - approval.created_at_ms : null;
  let commandEnded: "rejected" | "expired" | "cancelled" | null = null;
  const { agent_id: agentId, command_id } = approval;
  const command = agentId === null ? null : await tx.get(commands, tenant, command_id);
  if (agentId === null) {
    // The instance that drives the fleet command decides its held commands.
    tx.afterCommit(() => signals.fleetCommandChanged.send({ tenant, id: command_id }));
  } else if (command?.status === "pending_approval") {
    if (status === "approved") {
      tx.put(commands, tenant, {
        ...command,
        status: "queued",
        start_before_ms: now + START_WITHIN_MS,
      });
      tx.afterCommit(() => signals.commandApproved.send({ tenant, agentId }));
    } else {
      commandEnded = withdrawn ? "cancelled" : status;
      tx.put(commands, tenant, { ...command, status: commandEnded, reason, finished_at_ms: now });
    }
  }
  tx.afterCommit(() => signals.approvalResolved.send({ tenant, waitedMs, commandEnded }));
  emit({ actor: RELAY_ACTOR, ...work }, tx, tenant, {
    type: "approval_resolved",
    resource: { type: "approval", id: approval.id },
    agentId: agentId ?? undefined,
    thread: approval.thread,
    details: {
      ...agentsOf(approval),
      ...textForEvent(approval.command),
      command_id,
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
