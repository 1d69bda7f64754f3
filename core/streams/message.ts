import { type Tenant, tenantKey } from "../../kv/collection.ts";
import type { Sequenced } from "../../kv/log.ts";
import type { EventRow } from "../events.ts";
import type { Scope } from "../scopes.ts";
import { sha256Hex } from "../text.ts";
import { isWebhookEvent, WEBHOOK_EVENTS, type WebhookEventType } from "../webhooks/event_types.ts";
import { NOTIFICATION, NOTIFICATION_EVENT, notificationsIn } from "./notification.ts";
import { type Severity, severityOf } from "./severity.ts";

/** What a client is sent, whatever carries it. */
export interface Message {
  readonly kind: "hello" | "event" | "notification" | "heartbeat" | "end";
  /** `<history>:<seq>`, where a client goes on; null where that does not change. */
  readonly id: string | null;
  readonly json: string;
}

/** One event of the log, made ready once for all who read it. */
export interface Prepared extends Message {
  readonly seq: number;
  readonly type: string;
  readonly agentId: string | undefined;
  readonly severity: Severity;
  /** Of a notification: what each who was told reads; nobody else gets it. */
  readonly personal?: ReadonlyMap<string, string>;
  /** The right that reading it takes; null for none. */
  readonly scope: Scope | null;
}

/**
 * What a tenant's log is called in ids: no other tenant's has this name, and its own has another one once a
 * restored backup has made it another log.
 */
export const historyOf = (epoch: string, tenant: Tenant): string =>
  `${epoch}_${sha256Hex(tenantKey(tenant)).slice(0, 8)}`;

/** The id of a place in a log. */
export const idOf = (history: string, seq: number): string => `${history}:${seq}`;

/** What such an id looks like. */
export const MESSAGE_ID = /^([A-Za-z0-9_]{1,64}):([0-9]{1,15})$/;

/** The place that an id names, or null for one that is none. */
export function placeOf(id: string): { history: string; seq: number } | null {
  const [, history, seq] = MESSAGE_ID.exec(id) ?? [];
  return history === undefined ? null : { history, seq: Number(seq) };
}

/** True for what streams carry. */
export const isStreamed = (
  type: string,
): type is WebhookEventType | typeof NOTIFICATION_EVENT =>
  type === NOTIFICATION_EVENT || isWebhookEvent(type);

/** An event as streams carry it: a webhook's envelope without its delivery. Null for what only auditors read. */
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
    payload: row.details,
  };
  return {
    kind: "event",
    id: idOf(history, seq),
    json: JSON.stringify(envelope),
    seq,
    type,
    agentId: row.agent_id,
    severity: severityOf(type),
    scope: WEBHOOK_EVENTS[type].scope,
  };
}
