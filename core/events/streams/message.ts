import { hash } from "node:crypto";
import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { EventRow } from "../emit.ts";
import type { Scope } from "../../identity/identity.ts";
import { isoOrNull } from "../../codec/codec.ts";
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEventType } from "../types/webhook_events.ts";
import { NOTIFICATION, NOTIFICATION_EVENT, notificationsIn } from "./notification.ts";
import { type Severity, severityOf } from "./severity.ts";

/** A message to a client, independent of the transport. */
export interface Message {
  readonly kind:
    | "hello"
    | "event"
    | "notification"
    | "command_started"
    | "changed"
    | "status"
    | "output"
    | "result"
    | "heartbeat"
    | "end";
  /**
   * Where a client resumes: `<history>:<seq>` of an event, or an offset of a command's output; null for messages that
   * do not move the position.
   */
  readonly id: string | null;
  readonly json: string;
}

/** A message with what decides who gets it. */
export interface Announcement extends Message {
  readonly type: string;
  readonly agentId: string | undefined;
  readonly thread: string | undefined;
  readonly severity: Severity;
  /** For notifications: the JSON for each recipient, by user id. Nobody else receives it. */
  readonly personal?: ReadonlyMap<string, string>;
  /** The right needed to read it; null for none. */
  readonly scope: Scope | null;
}

/** One event of the log, serialized once for all its readers. */
export interface Prepared extends Announcement {
  readonly seq: number;
}

/**
 * The name of a tenant's log in event ids. It is unique to the tenant and changes with the epoch, so ids from
 * before a restored backup are not accepted after it.
 */
export const historyOf = (epoch: string, tenant: Tenant): string =>
  `${epoch}_${hash("sha256", tenantKey(tenant)).slice(0, 8)}`;

/** The id of a position in a log. */
export const idOf = (history: string, seq: number): string => `${history}:${seq}`;

/** What such an id looks like. */
export const MESSAGE_ID = /^([A-Za-z0-9_]{1,64}):([0-9]{1,15})$/;

/** The position that an id names; null for a malformed id. */
export function positionOf(id: string): { history: string; seq: number } | null {
  const [, history, seq] = MESSAGE_ID.exec(id) ?? [];
  return history === undefined ? null : { history, seq: Number(seq) };
}

/** True for event types that streams carry. */
export const isStreamed = (
  type: string,
): type is WebhookEventType | typeof NOTIFICATION_EVENT =>
  type === NOTIFICATION_EVENT || isWebhookEvent(type);

/** The name of `command_started` in a stream's type filter. */
export const COMMAND_STARTED = "command_started";

/** A command that was sent to its agent. */
export interface StartedCommand {
  readonly id: string;
  readonly agent_id: string;
  readonly actor: string;
  readonly thread?: string | undefined;
  readonly started_at_ms: number | null;
}

/** The message that a command was sent. It is not in the log, so it moves no position and is not repeated. */
export const announceStart = (
  { id, agent_id, actor, thread, started_at_ms }: StartedCommand,
): Announcement => ({
  kind: COMMAND_STARTED,
  id: null,
  json: JSON.stringify({
    command_id: id,
    agent_id,
    user: actor,
    ...(thread !== undefined && { thread }),
    started_at: isoOrNull(started_at_ms),
  }),
  type: COMMAND_STARTED,
  agentId: agent_id,
  thread,
  severity: "info",
  scope: "agents:read",
});

/** An event in the webhook envelope, with its thread and without delivery fields; null for types that only the audit log has. */
export function prepare(
  tenant: Tenant,
  history: string,
  { seq, type, json }: Sequenced,
): Prepared | null {
  if (!isStreamed(type)) return null;
  const row = JSON.parse(json) as EventRow;
  if (type === NOTIFICATION_EVENT) {
    const { scope, texts } = notificationsIn(tenant, row);
    return {
      kind: "notification",
      id: idOf(history, seq),
      json: "",
      seq,
      type: NOTIFICATION,
      agentId: undefined,
      thread: undefined,
      severity: "warning",
      personal: texts,
      scope,
    };
  }
  const envelope = {
    event_id: row.event_id,
    event_type: type,
    timestamp: row.timestamp,
    organization_id: tenant.org,
    ...(row.agent_id !== undefined && { agent_id: row.agent_id }),
    ...(row.thread !== undefined && { thread: row.thread }),
    payload: row.details,
  };
  return {
    kind: "event",
    id: idOf(history, seq),
    json: JSON.stringify(envelope),
    seq,
    type,
    agentId: row.agent_id,
    thread: row.thread,
    severity: severityOf(type),
    scope: WEBHOOK_EVENTS[type].scope,
  };
}
