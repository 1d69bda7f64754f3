import { tenantKey } from "../../../kv/store/collection.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import type { Reading, Writing } from "../../work/work.ts";
import type { ResourceType } from "../types/resources.ts";
import { type DetailsOf, eventJson, type EventRow, isOwnEvent } from "../events.ts";
import { Fault } from "../../fault/fault.ts";
import { iso } from "../../codec/instant.ts";
import { mustFollow } from "./cursor.ts";
import { type Result, resultOf } from "./result.ts";

/** What an audit query may ask for; times in ms, all conditions must hold. */
export interface AuditFilter {
  readonly startMs?: number | undefined;
  readonly endMs?: number | undefined;
  /** One of these. */
  readonly event_type?: readonly string[] | undefined;
  readonly actor?: string | undefined;
  readonly resource_type?: ResourceType | undefined;
  readonly resource_id?: string | undefined;
  readonly result?: Result | undefined;
  /** What the details must hold, whatever its case. */
  readonly text?: string | undefined;
}

/** An event with its number in the organization's log. */
export type AuditEvent = EventRow & { readonly seq: number };

const PAGE = 500;
/** One look at what is new reads at most this many rows; its cursor goes on from there. */
const SCAN_MAX = 20_000;

/**
 * Events after a place in the log, oldest first, and the place to go on from; without a place, the newest
 * ones. An event that does not match is passed over, not waited for.
 */
export async function tailAudit(
  work: Reading,
  filter: AuditFilter & { readonly agent_id?: string | undefined },
  { limit, after }: { limit: number; after?: number | undefined },
) {
  const { app, actor: { id: actor, tenant } } = work;
  await app.log.flush();
  const head = await app.log.head(tenant);
  if (after !== undefined) await mustFollow(app, tenant, after, head);
  let position = after ?? Math.max(0, head - limit);
  const events: AuditEvent[] = [];
  for (let scanned = 0; position < head && scanned < SCAN_MAX && events.length < limit;) {
    const page = await app.log.read(tenant, position, PAGE);
    for (const sequenced of page) {
      if (events.length === limit || sequenced.seq > head) break;
      const event = showEvent(sequenced);
      const wanted = filter.agent_id === undefined || filter.agent_id === event.agent_id;
      if (wanted && matches(event, filter)) events.push(event);
      position = sequenced.seq;
      scanned++;
    }
    if (page.length === 0) break;
  }
  // Its own looks alone are no look: else who waits for news would find them for ever.
  const isLook = ({ event_type, actor: by }: AuditEvent) =>
    by === actor && (event_type === "audit_read" || event_type === "api_key_used");
  if (!events.every(isLook)) {
    const { agent_id, ...rest } = filter;
    const asked = { ...describe(rest), ...(agent_id !== undefined && { agent_id }) };
    await recordRead(work, "audit_read", { filter: asked, events: events.length });
  }
  return { events, cursor: position, has_more: position < head };
}

/** Puts a look at the trail into the trail. */
export async function recordRead<
  T extends
    | "audit_read"
    | "audit_exported"
    | "audit_checkpoint_read"
    | "audit_proof_read"
    | "compliance_report_read",
>(
  { app, actor, request }: Reading,
  type: T,
  details: DetailsOf<T>,
): Promise<void> {
  const { tenant } = actor;
  const resource = { type: "audit_log", id: tenantKey(tenant) } as const;
  const json = eventJson({ ports: app.ports, actor, request }, tenant, { type, resource, details });
  await app.store.append(tenant, type, json);
}

/**
 * Puts a caller's own event into the trail. It names whom the caller names; that it came from outside,
 * and through which credential, stands beside it.
 */
export function registerAuditEvent(
  work: Writing,
  input: { event_type: string; actor?: string | undefined; details: Record<string, unknown> },
): EventRow {
  const { actor, tx } = work;
  if (isOwnEvent(input.event_type) && input.event_type !== "user_login") {
    throw new Fault("VALIDATION_FAILED", "Relay writes events of this type itself.", {
      issues: [{ path: "body.event_type", message: "is reserved" }],
    });
  }
  const json = eventJson({ ...work, actor: { id: input.actor ?? actor.id } }, actor.tenant, {
    type: input.event_type,
    resource: { type: "external", id: actor.id },
    details: { ...input.details, reported_by: actor.id },
  });
  tx.append(actor.tenant, input.event_type, json);
  return JSON.parse(json);
}

/** An event of the log as answers show it. */
export const showEvent = ({ seq, json }: Sequenced): AuditEvent => ({
  seq,
  ...JSON.parse(json) as EventRow,
});
const atMs = (event: AuditEvent) => Date.parse(event.timestamp);

/** A filter as the signed note says it. */
export function describe(
  { startMs, endMs, event_type, ...rest }: AuditFilter,
): Record<string, string> {
  const chosen = {
    ...(event_type !== undefined && { event_type: event_type.join(",") }),
    ...(startMs !== undefined && { start_time: iso(startMs) }),
    ...(endMs !== undefined && { end_time: iso(endMs) }),
  };
  const said = Object.entries(rest).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(said), ...chosen };
}

/** Whether an event fulfils every condition. */
export function matches(event: AuditEvent, filter: AuditFilter): boolean {
  const at = atMs(event);
  return (filter.startMs === undefined || at >= filter.startMs) &&
    (filter.endMs === undefined || at <= filter.endMs) &&
    (filter.event_type?.includes(event.event_type) ?? true) &&
    (["actor", "resource_type", "resource_id"] as const)
      .every((name) => filter[name] === undefined || filter[name] === event[name]) &&
    (filter.result === undefined || filter.result === resultOf(event)) &&
    (filter.text === undefined || holdsText(event, filter.text));
}

/** Whether the details hold a text, in a name or a value, whatever its case. */
const holdsText = ({ details }: EventRow, text: string): boolean =>
  JSON.stringify(details).toLowerCase().includes(textInJson(text));

/** A text as the JSON of what holds it has it, in lower case. */
export const textInJson = (text: string): string => JSON.stringify(text).slice(1, -1).toLowerCase();
