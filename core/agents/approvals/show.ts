import { type ApprovalRecord, approvals } from "../../../kv/records/approval.ts";
import { commands } from "../../../kv/records/command.ts";
import type { Work } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { type Paging, showPage } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import type { ShieldResult } from "../../shield/shield.ts";
import { approvalPage } from "./page.ts";
import { threadOf } from "../commands/thread.ts";

/** The status at an instant: a request past its time counts as expired, even before that is recorded. */
export function statusNow(
  { status, expires_at_ms }: ApprovalRecord,
  nowMs: number,
): ApprovalRecord["status"] {
  return status === "pending" && nowMs >= expires_at_ms ? "expired" : status;
}

/** A request for approval as answers show it. */
export async function showApproval({ actor, db, ports }: Work, approval: ApprovalRecord) {
  const command = await db.get(commands, actor.tenant, approval.command_id);
  return {
    pid: approval.id,
    page: approvalPage(actor.tenant, approval.id),
    status: statusNow(approval, ports.clock.now()),
    command_id: approval.command_id,
    command_status: command?.status ?? null,
    agent_id: approval.agent_id,
    ...(approval.agents !== undefined && { agents: approval.agents }),
    command: approval.command,
    command_sha256: approval.command_sha256,
    ...threadOf(approval),
    policy_version: approval.policy_version,
    shield_result: approval.shield_result as ShieldResult,
    requested_by: approval.requested_by,
    requested_also: approval.requested_also,
    required: approval.required,
    roles: approval.roles,
    decisions: approval.decisions.map((
      { user_id, actor, also_of, approve, self_approved, reason, at_ms },
    ) => ({
      user_id,
      actor,
      also_of,
      decision: approve ? "approved" as const : "rejected" as const,
      self_approved,
      reason,
      at: iso(at_ms),
    })),
    reason: approval.reason,
    created_at: iso(approval.created_at_ms),
    expires_at: iso(approval.expires_at_ms),
    resolved_at: isoOrNull(approval.resolved_at_ms),
  };
}

/** The caller's request of this id. @throws {Fault} NOT_FOUND */
export async function ownedApproval({ db, actor }: Work, id: string): Promise<ApprovalRecord> {
  const approval = await db.get(approvals, actor.tenant, id);
  if (approval === null) throw new Fault("NOT_FOUND", "There is no such blocked process.");
  return approval;
}

/** The requests that a list shows. */
interface Choice extends Paging {
  readonly status?: ApprovalRecord["status"] | undefined;
  readonly order: "newest" | "oldest";
}

/** Requests of one status, or all. */
export async function listApprovals(work: Work, { status, order, ...paging }: Choice) {
  const { db, actor: { tenant } } = work;
  const by = status === undefined ? {} : { index: "status", prefix: [status] };
  const page = await db.list(approvals, tenant, { ...paging, ...by, reverse: order === "newest" });
  const total = await db.countBy(approvals, tenant, "status", by.prefix ?? []);
  const shown = await Promise.all(page.items.map((approval) => showApproval(work, approval)));
  return { approvals: shown, pagination: showPage(paging, page, total) };
}
