import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { EventRow } from "../emit.ts";
import type { Scope } from "../../identity/identity.ts";
import { sha256Hex } from "../../codec/codec.ts";
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEventType } from "../types/webhook_events.ts";
import { NOTIFICATION, NOTIFICATION_EVENT, notificationsIn } from "./notification.ts";
import { type Severity, severityOf } from "./severity.ts";

/** A message to a client, independent of the transport. */
export interface Message {
  readonly kind: "hello" | "event" | "notification" | "heartbeat" | "end";
  /** `<history>:<seq>`, where a client resumes; null for messages that do not move the position. */
  readonly id: string | null;
  readonly json: string;
}

/** One event of the log, serialized once for all its readers. */
export interface Prepared extends Message {
  readonly seq: number;
  readonly type: string;
  readonly agentId: string | undefined;
  readonly thread: string | undefined;
  readonly severity: Severity;
  /** For notifications: the JSON for each recipient, by user id. Nobody else receives it. */
  readonly personal?: ReadonlyMap<string, string>;
  /** The right needed to read it; null for none. */
  readonly scope: Scope | null;
}

/**
 * The name of a tenant's log in event ids. It is unique to the tenant and changes with the epoch, so ids from
 * before a restored backup are not accepted after it.
 */
export const historyOf = (epoch: string, tenant: Tenant): string =>
  `${epoch}_${sha256Hex(tenantKey(tenant)).slice(0, 8)}`;

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
