import type { Tenant } from "../../kv/collection.ts";
import { type ApprovalRecord, approvals } from "../../kv/records/approval.ts";
import { type CommandRecord, commands } from "../../kv/records/command.ts";
import type { ShieldSettingsRecord } from "../../kv/records/shield.ts";
import type { Stepping } from "../app.ts";
import { textForEvent } from "../commands/text.ts";
import { emit } from "../events.ts";
import { iso } from "../lists.ts";
import type { PolicyApprovals } from "../shield/decide.ts";
import type { ShieldResult } from "../shield/result.ts";
import { sha256Hex } from "../text.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Holds a command back until people decide: both records and the event in one commit. Who they are the
 * policy's rule says before the settings.
 */
export async function requestApproval(
  work: Stepping,
  fresh: CommandRecord,
  settings: ShieldSettingsRecord,
  ofPolicy: PolicyApprovals | null,
): Promise<{ command: CommandRecord; approval: ApprovalRecord }> {
  const { app, actor } = work;
  const { tenant } = actor;
  const { self_approval, expires_seconds } = settings.approvals;
  const { required = settings.approvals.required, roles = settings.approvals.roles } = ofPolicy ??
    {};
  const now = fresh.created_at_ms;
  const lapsesAtMs = now + expires_seconds * 1000;
  const keptUntilMs = lapsesAtMs + app.config().retention_days.commands * DAY_MS;
  const id = app.ports.entropy.id("prc");
  return await app.store.transact((tx) => {
    const command = tx.insert(commands, tenant, {
      ...fresh,
      status: "pending_approval",
      approval_id: id,
      started_at_ms: null,
      expires_at_ms: keptUntilMs,
    });
    const approval = tx.insert(approvals, tenant, {
      id,
      command_id: fresh.id,
      agent_id: fresh.agent_id,
      command: fresh.command,
      command_sha256: sha256Hex(fresh.command),
      policy_version: settings.version,
      shield_result: fresh.shield_result,
      requested_by: actor.id,
      requested_user: actor.userId,
      status: "pending",
      required,
      roles,
      self_approval,
      decisions: [],
      reason: null,
      created_at_ms: now,
      expires_at_ms: lapsesAtMs,
      resolved_at_ms: null,
      purge_at_ms: keptUntilMs,
    });
    emitRequested(work, tx, tenant, approval);
    work.recordUse(tx, 202);
    return { command, approval };
  });
}

function emitRequested(
  work: Stepping,
  tx: Parameters<typeof emit>[1],
  tenant: Tenant,
  approval: ApprovalRecord,
): void {
  const { risk_score, threats, layer } = approval.shield_result as ShieldResult;
  emit(work, tx, tenant, {
    type: "approval_requested",
    resource: { type: "approval", id: approval.id },
    agentId: approval.agent_id,
    details: {
      ...textForEvent(approval.command),
      command_id: approval.command_id,
      expires_at: iso(approval.expires_at_ms),
      pid: approval.id,
      requested_by: approval.requested_by,
      shield_result: { layer, risk_score, threats },
    },
  });
}
