import type { Tenant } from "../kv/collection.ts";
import type { Tx } from "../kv/tx.ts";
import type { Actor, App, RequestInfo } from "./app.ts";
import { countedAs } from "./admin/counted.ts";
import { canonicalJson } from "./canonical.ts";
import { iso } from "./lists.ts";
import type { Ports } from "./ports.ts";
import { WEBHOOK_EVENTS, type WebhookEventType } from "./webhooks/event_types.ts";

/** Audit events that no webhook carries. */
export const AUDIT_EVENTS = {
  api_key_created: "an API key was made",
  api_key_used: "a request was made with an API key",
  api_key_updated: "the metadata or the scopes of an API key were changed",
  api_key_rotated: "an API key got a new value",
  api_key_revoked: "an API key was revoked",
  api_key_deleted: "an API key was deleted",
  audit_read: "the audit log was queried",
  audit_exported: "the audit log was exported",
  audit_checkpoint_read: "a checkpoint of the audit log was asked for",
  checkpoint_refused: "an agent was shown another past of the audit log than the one it knows",
  audit_proof_read: "a proof about the audit log was asked for",
  compliance_report_requested: "a compliance report was asked for",
  compliance_report_read: "a compliance report was read",
  compliance_report_failed: "a compliance report could not be made",
  access_denied: "a request was refused for lack of a right",
  approval_given: "one of several people whose approval is needed has given it",
  alert_resolved: "a person resolved an alert",
  alerts_ingested: "alerts came in: imported, or from outside with an ingest token",
  ingest_refused: "what came in with an ingest token could not be read",
  ingest_token_created: "an ingest token was made",
  ingest_token_deleted: "an ingest token was deleted",
  telegram_linked: "a person linked their Telegram account",
  telegram_unlinked: "a link to a Telegram account was deleted",
  policy_confirmed: "an agent holds the policies that concern it now",
  policy_rolled_back: "a policy went back to an earlier version and is pinned to it",
  policy_unpinned: "a policy follows its repository again",
  repository_created: "a Git repository was registered",
  repository_deleted: "a Git repository was removed",
  repository_sync_failed:
    "a repository could not be synced by itself: the policies stay as they are",
  backup_restored: "a backup took the place of the store: what happened after it is not in the log",
  drift_detected: "an agent holds something else than what was applied to it",
  drift_resolved: "an agent holds again what was applied to it",
  backup_started: "a backup of an agent's configuration was asked for",
  backup_completed: "an agent's configuration was backed up",
  backup_failed: "a backup of an agent's configuration came to nothing",
  restore_started: "a restore of an agent's configuration, or its rehearsal, was asked for",
  restore_completed: "an agent's configuration was restored, or that was rehearsed",
  restore_failed: "a restore of an agent's configuration came to nothing",
  canary_run: "the shield's canary was run",
  patterns_changed: "built-in rules of the shield were switched on or off",
  shield_changed: "the settings of the shield were changed",
  agent_restart_requested: "an agent was told to start again",
  agent_credential_refused: "an agent tried to connect as one that another credential owns",
  command_cancelled: "a command was cancelled",
  approval_mismatch:
    "an approved command was not sent: its bytes, agent or policy are not those that were approved",
  verdict_refused: "an agent did not run a command, because its verdict did not verify",
  receipt_refused: "an agent's results were not taken, because their receipt did not verify",
  command_failed:
    "a command ended without a result: it failed to start, was refused or its link broke",
  limits_changed: "the host changed the limits of an API key or an organization",
  role_created: "a role was made",
  role_updated: "the permissions of a role were changed",
  role_deleted: "a role was deleted",
  role_assigned: "a user got a role",
  role_revoked: "a role was taken from a user",
  user_invited: "somebody was invited into the organization",
  invitation_withdrawn: "an invitation was withdrawn",
  user_deactivated: "a user was switched off",
  user_activated: "a user was switched on again",
  password_changed: "a user changed their password",
  session_ended: "a user ended a session of theirs",
  account_settings_changed: "a user changed their language or timezone",
  second_factor_enabled: "a user signs in with a second factor from now on",
  second_factor_disabled: "a user signs in without a second factor from now on",
  recovery_codes_replaced: "a user made new recovery codes",
  recovery_code_used: "a user signed in with a recovery code",
  second_factor_required: "the organization requires a second factor, or no longer does",
  integration_installed: "an outside system was installed",
  integration_removed: "an integration was removed; tokens that it got by OAuth are revoked",
  integration_flow_begun: "a user began to connect an integration by OAuth",
  integration_connected: "an OAuth flow brought an integration its tokens",
  integration_refused: "an OAuth flow ended without tokens",
  integration_expired: "an OAuth provider takes an integration's refresh token no more",
  integration_failed: "what an integration had to send outside failed in its last attempt",
  notification_sent: "people were told of something that they must know",
  organization_created: "an organization signed up",
  plan_created: "the host made a plan",
  plan_updated: "the host changed a plan",
  plan_deleted: "the host deleted a plan",
  account_plan_changed: "the host gave an account another plan: a subscription and an order",
  account_deactivated: "the host switched an account off: its sessions, streams and keys ended",
  account_activated: "the host switched an account on again",
  config_reloaded: "the configuration was read again",
  device_code_created: "a one-time code for pairing a device was made",
  device_paired: "a device showed its pairing code, and waits for its confirmation",
  device_confirmed: "a device was confirmed and got its credential",
  device_deleted: "a device was deleted, and its credential ended",
  user_created: "a user was made",
  user_login: "a user signed in",
  user_login_failed: "a sign-in failed",
  webhook_created: "a webhook was made",
  webhook_updated: "a webhook was changed",
  webhook_deleted: "a webhook was deleted",
  webhook_tested: "a ping was sent to a webhook",
  webhook_enabled: "a webhook was enabled",
  webhook_disabled:
    "a webhook was disabled: by somebody, or because a delivery failed for good or it was gone",
  webhook_delivery_resent: "a delivery was asked for once more",
  webhook_recovery_started: "the deliveries of a time were asked for once more",
  webhook_recovery_cancelled: "a recovery was stopped before its end",
} as const;

export type EventType = WebhookEventType | keyof typeof AUDIT_EVENTS;

/** Every event type that Relay itself writes; callers may register others under `custom`. */
export const isOwnEvent = (type: string): boolean =>
  Object.hasOwn(AUDIT_EVENTS, type) || Object.hasOwn(WEBHOOK_EVENTS, type);

/** What happened, as a rule says it. */
export interface Happening {
  readonly type: EventType;
  readonly resource: { readonly type: string; readonly id: string };
  readonly agentId?: string;
  /** Becomes the audit row's `details` and the webhook's `payload`. */
  readonly details: Readonly<Record<string, unknown>>;
}

/** One event of the log, as stored: the audit row and the source of webhooks and streams. */
export interface EventRow {
  readonly actor: string;
  readonly agent_id?: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly event_type: string;
  readonly organization_id: string;
  readonly request_id?: string;
  readonly resource_id: string;
  readonly resource_type: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
}

type Context = {
  readonly app: { readonly ports: Pick<Ports, "clock" | "entropy"> };
  readonly actor: Pick<Actor, "id">;
  readonly request?: Pick<RequestInfo, "id">;
};

/** Puts an event into the log, in the transaction of the change that it reports. */
export function emit(
  work: Context & { readonly app: Pick<App, "activity"> },
  tx: Tx,
  tenant: Tenant,
  happening: Happening,
): void {
  tx.append(tenant, happening.type, eventJson(work, tenant, happening));
  const names = countedAs(happening);
  if (names.length === 0) return;
  tx.afterCommit(() => names.forEach((name) => work.app.activity.count(tenant, name)));
}

/** The canonical JSON of an event row. */
export function eventJson(
  { app, actor, request }: Context,
  tenant: Tenant,
  { type, resource, agentId, details }: Omit<Happening, "type"> & { readonly type: string },
): string {
  const row: EventRow = {
    actor: actor.id,
    ...(agentId !== undefined && { agent_id: agentId }),
    details,
    event_id: app.ports.entropy.uuid(),
    event_type: type,
    organization_id: tenant.org,
    ...(request && { request_id: request.id }),
    resource_id: resource.id,
    resource_type: resource.type,
    timestamp: iso(app.ports.clock.now()),
  };
  return canonicalJson(row);
}

/**
 * The event of a key's use: one for each request, so it is written out in sorted order by hand.
 * Ids, methods, route patterns and statuses hold nothing that JSON escapes.
 */
export function useJson(
  { app, actor, request }: Required<Context>,
  tenant: Tenant,
  endpoint: string,
  status: number,
): string {
  const at = iso(app.ports.clock.now());
  return `{"actor":"${actor.id}","details":{"endpoint":"${endpoint}","status":${status}},` +
    `"event_id":"${app.ports.entropy.uuid()}","event_type":"api_key_used",` +
    `"organization_id":"${tenant.org}","request_id":"${request.id}",` +
    `"resource_id":"${actor.id}","resource_type":"api_key","timestamp":"${at}"}`;
}

/** The actor of what Relay does by itself. */
export const RELAY_ACTOR: Pick<Actor, "id"> = { id: "relay" };
