import { type EventRow, type EventType, type Result, resultOf } from "../../events/events.ts";

/** A query of the audit log; all conditions must hold. */
export interface Query {
  readonly title: string;
  /** Any of these types. */
  readonly event_types: readonly EventType[];
  /** As the `result` filter of the audit log. */
  readonly result?: Result;
  /** Members of `details` and their values. */
  readonly details?: Readonly<Record<string, string>>;
  /** Two members of `details` that are present and equal. */
  readonly same?: readonly [string, string];
  /** Its rows are listed as exceptions, which a reviewer should examine. */
  readonly exception?: true;
}

/** Every query that reports make. */
export const QUERIES = {
  sign_ins: { title: "Sign-ins", event_types: ["user_login"] },
  terminal_sign_ins: {
    title: "Sign-ins of terminals approved or denied",
    event_types: ["device_login_approved", "device_login_denied"],
  },
  mcp_clients: {
    title: "MCP clients approved, refused, connected or ended",
    event_types: [
      "mcp_client_approved",
      "mcp_client_refused",
      "mcp_client_connected",
      "mcp_client_ended",
    ],
  },
  failed_sign_ins: {
    title: "Failed sign-ins",
    event_types: ["user_login_failed"],
    exception: true,
  },
  recovery_sign_ins: {
    title: "Sign-ins with a recovery code",
    event_types: ["recovery_code_used"],
    exception: true,
  },
  users_made: {
    title: "Users created or invited",
    event_types: ["organization_created", "user_created", "user_invited", "invitation_withdrawn"],
  },
  users_switched: {
    title: "Users deactivated or reactivated",
    event_types: ["user_deactivated", "user_activated"],
  },
  roles_changed: {
    title: "Roles created, changed, deleted, assigned or revoked",
    event_types: [
      "role_created",
      "role_updated",
      "role_deleted",
      "role_assigned",
      "role_revoked",
    ],
  },
  factors_changed: {
    title: "Passwords and second factors changed, sessions ended",
    event_types: [
      "password_changed",
      "password_reset",
      "password_reset_created",
      "password_reset_used",
      "second_factor_enabled",
      "second_factor_disabled",
      "second_factor_required",
      "recovery_codes_replaced",
      "session_ended",
      "refresh_token_reused",
    ],
  },
  account_changed: {
    title: "Account deactivated, reactivated or given another plan by the host",
    event_types: ["account_deactivated", "account_activated", "account_plan_changed"],
  },
  refused_for_rights: {
    title: "Requests refused for missing rights",
    event_types: ["access_denied"],
    exception: true,
  },
  key_uses: { title: "Requests made with API keys", event_types: ["api_key_used"] },
  key_uses_denied: {
    title: "Requests with API keys answered with 403",
    event_types: ["api_key_used"],
    result: "denied",
  },
  keys_made: { title: "API keys created", event_types: ["api_key_created"] },
  keys_changed: { title: "API keys changed", event_types: ["api_key_updated"] },
  keys_rotated: { title: "API keys rotated", event_types: ["api_key_rotated"] },
  keys_ended: {
    title: "API keys revoked or deleted",
    event_types: ["api_key_revoked", "api_key_deleted"],
  },
  limits_changed: { title: "Limits changed by the host", event_types: ["limits_changed"] },
  commands_succeeded: {
    title: "Commands that ended with exit code 0",
    event_types: ["command_executed"],
    details: { status: "succeeded" },
  },
  commands_failed: {
    title: "Commands that ended with another exit code",
    event_types: ["command_executed"],
    details: { status: "failed" },
  },
  commands_without_result: {
    title: "Commands without a result",
    event_types: ["command_failed"],
    exception: true,
  },
  commands_denied: {
    title: "Commands blocked by the shield or a policy",
    event_types: ["command_denied"],
    exception: true,
  },
  commands_timed_out: {
    title: "Commands that exceeded their time",
    event_types: ["command_timeout"],
    exception: true,
  },
  commands_cancelled: { title: "Commands cancelled", event_types: ["command_cancelled"] },
  approvals_requested: { title: "Approvals requested", event_types: ["approval_requested"] },
  approvals_given: {
    title: "Approvals by one of several required people",
    event_types: ["approval_given"],
  },
  approvals_granted: {
    title: "Approvals granted",
    event_types: ["approval_resolved"],
    details: { decision: "approved" },
  },
  approvals_rejected: {
    title: "Approvals rejected",
    event_types: ["approval_resolved"],
    details: { decision: "rejected" },
  },
  approvals_lapsed: {
    title: "Approval requests that ended undecided: expired, withdrawn or outdated",
    event_types: ["approval_resolved"],
    details: { decision: "expired" },
  },
  approvals_by_requester: {
    title: "Approvals granted by the credential that asked",
    event_types: ["approval_resolved"],
    details: { decision: "approved" },
    same: ["decided_by", "requested_by"],
    exception: true,
  },
  approvals_given_by_requester: {
    title: "Approvals by the credential that asked, where others had to approve too",
    event_types: ["approval_given"],
    same: ["decided_by", "requested_by"],
    exception: true,
  },
  self_approvals: {
    title: "Approvals by somebody who may have made the request",
    event_types: ["self_approval_given"],
    exception: true,
  },
  policy_changes: {
    title: "Policies made, changed or deleted",
    event_types: [
      "policy_created",
      "policy_updated",
      "policy_deleted",
      "policy_rolled_back",
      "policy_unpinned",
    ],
  },
  policy_sources: {
    title: "Policy repositories registered or removed",
    event_types: ["repository_created", "repository_deleted"],
  },
  policy_syncs_failed: {
    title: "Policy repositories whose sync failed",
    event_types: ["repository_sync_failed"],
    exception: true,
  },
  drift_found: {
    title: "Agents whose state differed from what was applied",
    event_types: ["drift_detected"],
    exception: true,
  },
  drift_ended: { title: "Agents whose state matched again", event_types: ["drift_resolved"] },
  agents_backed_up: {
    title: "Backups of agents' configurations",
    event_types: ["backup_started", "backup_completed", "backup_failed"],
  },
  agents_restored: {
    title: "Restores of agents' configurations, dry runs included",
    event_types: ["restore_started", "restore_completed", "restore_failed"],
  },
  settings_reloaded: { title: "Configuration reloaded", event_types: ["config_reloaded"] },
  shield_changes: {
    title: "Shield settings changed",
    event_types: [
      "shield_changed",
      "patterns_changed",
      "self_approval_requested",
      "self_approval_allowed",
      "self_approval_refused",
    ],
  },
  canary_runs: { title: "Tests of the shield", event_types: ["canary_run"] },
  agents_changed: {
    title: "Agents registered, renamed, relabelled or removed",
    event_types: ["agent_created", "agent_updated", "agent_deleted"],
  },
  agents_lost: { title: "Agents disconnected", event_types: ["agent_disconnected"] },
  agents_impersonated: {
    title: "Agents refused because another credential owns them",
    event_types: ["agent_credential_refused"],
    exception: true,
  },
  agent_restarts: {
    title: "Agents asked to restart",
    event_types: ["agent_restart_requested"],
  },
  agents_upgraded: {
    title: "Upgrades of agents' programs",
    event_types: ["upgrade_started", "upgrade_ended", "agent_upgraded", "agent_upgrade_failed"],
  },
  proofs_refused: {
    title: "Verdicts, receipts, approvals or checkpoints that did not verify",
    event_types: ["verdict_refused", "receipt_refused", "approval_mismatch", "checkpoint_refused"],
    exception: true,
  },
  devices_changed: {
    title: "Devices paired, confirmed or deleted",
    event_types: [
      "device_code_created",
      "device_code_deleted",
      "device_paired",
      "device_confirmed",
      "device_deleted",
    ],
  },
  integrations_changed: {
    title: "Integrations installed, connected or removed",
    event_types: [
      "integration_installed",
      "integration_flow_begun",
      "integration_connected",
      "integration_refused",
      "integration_removed",
      "integration_expired",
    ],
  },
  standing_rights: {
    title: "Repositories, webhooks, integrations and ingest tokens suspended, resumed or adopted",
    event_types: ["standing_suspended", "standing_resumed", "standing_adopted"],
  },
  signing_keys_changed: {
    title: "Signing keys of the relay replaced",
    event_types: ["verdict_key_rotated", "audit_key_rotated"],
  },
  store_replaced: {
    title: "Store replaced by a backup",
    event_types: ["backup_restored"],
    exception: true,
  },
  alerts_taken: { title: "Alerts received", event_types: ["alerts_ingested"] },
  alerts_acknowledged: {
    title: "Alerts acknowledged by a person",
    event_types: ["alert_acknowledged"],
  },
  alerts_resolved: { title: "Alerts resolved by a person", event_types: ["alert_resolved"] },
  log_read: {
    title: "Reads of the audit log",
    event_types: ["audit_read", "compliance_report_read"],
  },
  log_taken: {
    title: "Exports of the audit log, alone or in an archive of evidence",
    event_types: ["audit_exported", "compliance_evidence_taken"],
  },
  log_proved: {
    title: "Checkpoints and proofs read",
    event_types: ["audit_checkpoint_read", "audit_proof_read"],
  },
  reports_made: {
    title: "Reports requested, completed or failed, and their schedule",
    event_types: [
      "compliance_schedule_changed",
      "compliance_report_requested",
      "compliance_report_generated",
      "compliance_report_failed",
    ],
  },
  outside_access_changed: {
    title: "Ingest tokens, webhooks and chat links created, changed or ended",
    event_types: [
      "ingest_token_created",
      "ingest_token_deleted",
      "webhook_created",
      "webhook_updated",
      "webhook_deleted",
      "webhook_enabled",
      "webhook_disabled",
      "telegram_linked",
      "telegram_unlinked",
    ],
  },
} as const satisfies Readonly<Record<string, Query>>;

export type QueryName = keyof typeof QUERIES;
export const QUERY_NAMES = Object.keys(QUERIES) as QueryName[];

/** True for rows registered by callers, which are no evidence for any control. */
export const isFromOutside = ({ resource_type }: EventRow): boolean => resource_type === "external";

/** The queries that a row matches. */
export function queriesMatching(row: EventRow): readonly QueryName[] {
  if (isFromOutside(row)) return [];
  return (BY_TYPE.get(row.event_type) ?? []).flatMap(({ name }) =>
    fits(QUERIES[name], row) ? [name] : []
  );
}

function fits({ result, details = {}, same }: Query, row: EventRow): boolean {
  return (result === undefined || result === resultOf(row)) &&
    Object.entries(details).every(([name, value]) => row.details[name] === value) &&
    (same === undefined ||
      row.details[same[0]] !== undefined && row.details[same[0]] === row.details[same[1]]);
}

const BY_TYPE = Map.groupBy(
  QUERY_NAMES.flatMap((name) => QUERIES[name].event_types.map((type) => ({ type, name }))),
  ({ type }) => type as string,
);
