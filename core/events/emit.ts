import type { z } from "zod";
import type { Appending } from "../../kv/log/appends.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { TraceIds } from "../../kv/store/trace.ts";
import type { Actor, RequestInfo } from "../identity/identity.ts";
import type { Signals } from "../context/context.ts";
import type { AuditEventType } from "./types/event.ts";
import type { ResourceType } from "./types/resources.ts";
import { AUDIT_EVENTS, type AuditEventName } from "./types/table.ts";
import { canonicalJson, iso } from "../codec/codec.ts";
import type { Ports } from "../ports/ports.ts";
import {
  WEBHOOK_EVENTS,
  type WebhookEvent,
  type WebhookEventType,
} from "./types/webhook_events.ts";

export type EventType = WebhookEventType | AuditEventName;

/** Every event type that Relay itself writes: its meaning, outcome and details. */
export const OWN_EVENTS: Readonly<Record<string, AuditEventType>> = {
  ...AUDIT_EVENTS,
  ...Object.fromEntries(
    Object.entries<WebhookEvent>(WEBHOOK_EVENTS).map(([type, { payload, ...row }]) => [
      type,
      { ...row, details: payload },
    ]),
  ),
};

/** True for types that callers may not register. */
export const isOwnEvent = (type: string): boolean => Object.hasOwn(OWN_EVENTS, type);

/** An event as a rule describes it; `emit` adds id, time, actor and request. */
export interface NewEvent<T extends EventType = EventType> {
  readonly type: T;
  readonly resource: { readonly type: ResourceType; readonly id: string };
  /** The agent concerned, when the resource is not that agent. */
  readonly agentId?: string | undefined;
  /** The alert whose story it belongs to. */
  readonly thread?: string | undefined;
  /** The audit row's `details` and the webhook's `payload`. */
  readonly details: DetailsOf<T>;
}

/** The details that the schema of an event type accepts. */
export type DetailsOf<T extends EventType> = T extends WebhookEventType
  ? Frozen<z.input<(typeof WEBHOOK_EVENTS)[T]["payload"]>>
  : T extends AuditEventName ? Frozen<z.input<(typeof AUDIT_EVENTS)[T]["details"]>>
  : never;

type Frozen<T> = T extends readonly (infer E)[] ? readonly Frozen<E>[]
  : T extends object ? { readonly [K in keyof T]: Frozen<T[K]> }
  : T;

/** One stored event: the audit row, from which webhooks and streams are made. */
export interface EventRow {
  readonly actor: string;
  readonly agent_id?: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly event_id: string;
  readonly event_type: string;
  /** The grant of the MCP client that acted for the actor. */
  readonly mcp_grant_id?: string;
  readonly organization_id: string;
  readonly request_id?: string;
  readonly resource_id: string;
  readonly resource_type: string;
  /** The span of a trace in which it happened, as in log records of OpenTelemetry. */
  readonly span_id?: string;
  readonly thread?: string;
  /** ISO 8601, UTC, milliseconds. */
  readonly timestamp: string;
  readonly trace_id?: string;
}

/** A request as events name it. */
type Asking = Pick<RequestInfo, "id"> & { readonly trace?: TraceIds | null };

interface Origin {
  readonly ports: Pick<Ports, "clock" | "entropy">;
  readonly actor: Pick<Actor, "id" | "grantId">;
  readonly request?: Asking;
}

/** Appends an event to the log in the transaction of the change that it reports. */
export function emit<T extends EventType>(
  work: Origin & { readonly signals: Signals },
  tx: Appending,
  tenant: Tenant,
  event: NewEvent<T>,
): void {
  tx.append(tenant, event.type, eventJson(work, tenant, event));
  const { type, details } = event;
  tx.afterCommit(() => work.signals.eventWritten.send({ tenant, type, details }));
}

/** The canonical JSON of an event row: members in sorted order, because rows are hashed. */
export function eventJson(
  { ports, actor, request }: Origin,
  tenant: Tenant,
  { type, resource, agentId, thread, details }:
    & Pick<NewEvent, "resource" | "agentId" | "thread">
    & {
      readonly type: string;
      readonly details: Readonly<Record<string, unknown>>;
    },
): string {
  const concerned = resource.type === "agent" ? resource.id : agentId;
  const agent = concerned === undefined ? "" : `"agent_id":${canonicalJson(concerned)},`;
  const asked = request === undefined ? "" : `"request_id":${canonicalJson(request.id)},`;
  const joined = thread === undefined ? "" : `"thread":${canonicalJson(thread)},`;
  const { grantId } = actor;
  const client = grantId === undefined ? "" : `"mcp_grant_id":"${grantId}",`;
  const { span, traced } = traceMembers(request);
  const at = iso(ports.clock.now());
  const resourceId = canonicalJson(resource.id);
  return `{"actor":${canonicalJson(actor.id)},${agent}"details":${canonicalJson(details)},` +
    `"event_id":"${ports.entropy.uuid()}","event_type":${canonicalJson(type)},` +
    `${client}"organization_id":"${tenant.org}",${asked}"resource_id":${resourceId},` +
    `"resource_type":"${resource.type}",${span}${joined}"timestamp":"${at}"${traced}}`;
}

/** The members of a row that join it with a trace, where they belong in the sorted order. */
const traceMembers = (request: Asking | undefined) =>
  request?.trace
    ? {
      span: `"span_id":"${request.trace.spanId}",`,
      traced: `,"trace_id":"${request.trace.traceId}"`,
    }
    : UNTRACED;

const UNTRACED = { span: "", traced: "" };

/**
 * The canonical JSON of `api_key_used`. Every request writes one, so this avoids the general serializer.
 * Ids, methods, route patterns and statuses contain nothing that JSON escapes.
 */
export function keyUseJson(
  { ports, actor, request }: Required<Origin> & { readonly actor: Pick<Actor, "key"> },
  tenant: Tenant,
  endpoint: string,
  status: number,
): string {
  const at = iso(ports.clock.now());
  const old = actor.key?.oldUntilMs ? `"old_value":true,` : "";
  const { span, traced } = traceMembers(request);
  return `{"actor":"${actor.id}","details":{"endpoint":"${endpoint}",${old}"status":${status}},` +
    `"event_id":"${ports.entropy.uuid()}","event_type":"api_key_used",` +
    `"organization_id":"${tenant.org}","request_id":"${request.id}",` +
    `"resource_id":"${actor.id}","resource_type":"api_key",${span}"timestamp":"${at}"${traced}}`;
}

/** The trace that an event belongs to, for its consequences. */
export const traceparentOf = (
  { trace_id, span_id }: Pick<EventRow, "trace_id" | "span_id">,
): string | undefined => trace_id === undefined ? undefined : `00-${trace_id}-${span_id}-01`;

/** The actor of events that Relay causes itself. */
export const RELAY_ACTOR: Pick<Actor, "id"> = { id: "relay" };

/** The actor of maintenance commands, which open the store directly and need no account. */
export const OPERATOR_ACTOR: Pick<Actor, "id"> = { id: "operator" };
