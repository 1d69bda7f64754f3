import {
  ALERT_FACETS,
  type AlertFacet,
  alertIndex,
  type AlertRecord,
  alerts,
  type AlertState,
} from "../../../kv/records/alert.ts";
import type { Work, Writing } from "../../work/work.ts";
import { agentIdOf, agentIdOfFilter } from "../names.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { listPage, pageOf, type Paging } from "../../../kv/store/paging.ts";
import type { ListOptions, Reader } from "../../../kv/store/reader.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { withExpiry } from "./record.ts";

/** The alerts that a list shows. */
export type AlertFilter =
  & { readonly state: AlertState; readonly text?: string | undefined }
  & {
    readonly [facet in AlertFacet]?: string | undefined;
  };

/** Alerts that a search by text reads, the newest of those that the other filters choose. */
const SEARCHED_MAX = 2_000;

/**
 * Alerts of one state, newest first. Sources may name agents that Relay does not know.
 * @throws {Fault} AGENT_NOT_FOUND for a name that neither an agent nor an alert has
 */
export async function listAlerts({ db, actor: { tenant } }: Work, given: AlertFilter & Paging) {
  const { limit, offset, agent_id: named } = given;
  const agent_id = named && await agentIdOf(db, tenant, named);
  const filter = { ...given, agent_id };
  const facets = ALERT_FACETS.filter((facet) => filter[facet] !== undefined);
  const index = alertIndex(facets);
  const prefix = [filter.state, ...facets.map((facet) => filter[facet]!)];
  const by = { index, prefix, reverse: true };
  const { items, pagination } = given.text === undefined
    ? await listPage(db, alerts, tenant, { limit, offset, ...by })
    : pageOf(await searchAlerts(db, tenant, by, given.text), { limit, offset });
  if (named !== undefined && pagination.total === 0) await agentIdOfFilter(db, tenant, named);
  return { alerts: items.map(showAlert), pagination };
}

/** The alerts of an index whose name, source or summary has a text, ignoring case. */
async function searchAlerts(
  db: Reader,
  tenant: Tenant,
  by: Pick<ListOptions, "index" | "prefix" | "reverse">,
  text: string,
): Promise<AlertRecord[]> {
  const wanted = text.toLowerCase();
  const { items } = await db.list(alerts, tenant, { limit: SEARCHED_MAX, ...by });
  return items.filter(({ name, source, annotations: { summary = "" } }) =>
    `${name}\n${source}\n${summary}`.toLowerCase().includes(wanted)
  );
}

/** One alert. @throws {Fault} NOT_FOUND */
export async function getAlert({ db, actor }: Work, id: string) {
  const alert = await db.get(alerts, actor.tenant, id);
  if (alert === null) throw new Fault("NOT_FOUND", "There is no such alert.");
  return showAlert(alert);
}

/** What a person says about an alert. */
interface Remark {
  readonly alert_id: string;
  readonly reason?: string | null | undefined;
}

/**
 * Records that a person looks after an alert, until it is resolved and reported again.
 * @throws {Fault} NOT_FOUND, CONFLICT
 */
export async function acknowledgeAlert(work: Writing, remark: Remark) {
  const { actor, ports, tx } = work;
  const alert = await activeAlert(work, remark.alert_id);
  const { acknowledged_by: by } = alert;
  if (by !== null) {
    throw new Fault("CONFLICT", "This alert is already acknowledged.", { acknowledged_by: by });
  }
  emitRemark(work, "alert_acknowledged", alert, remark);
  const acknowledged_at_ms = ports.clock.now();
  return showAlert(
    tx.put(alerts, actor.tenant, { ...alert, acknowledged_at_ms, acknowledged_by: actor.id }),
  );
}

/** Resolves an alert by hand; a new report of its source reopens it. @throws {Fault} NOT_FOUND, CONFLICT */
export async function resolveAlert(work: Writing, remark: Remark) {
  const { actor, ports, tx } = work;
  const alert = await activeAlert(work, remark.alert_id);
  const now = ports.clock.now();
  emitRemark(work, "alert_resolved", alert, remark);
  const resolved = {
    ...alert,
    state: "resolved" as const,
    ends_at_ms: now,
    resolved_at_ms: now,
    resolved_by: actor.id,
    reason: remark.reason ?? null,
  };
  return showAlert(tx.put(alerts, actor.tenant, withExpiry(resolved, now)));
}

/** @throws {Fault} NOT_FOUND, CONFLICT */
async function activeAlert({ actor, tx }: Writing, id: string): Promise<AlertRecord> {
  const alert = await tx.get(alerts, actor.tenant, id);
  if (alert === null) throw new Fault("NOT_FOUND", "There is no such alert.");
  if (alert.state === "active") return alert;
  throw new Fault("CONFLICT", "This alert is already resolved.", { state: alert.state });
}

function emitRemark(
  work: Writing,
  type: "alert_acknowledged" | "alert_resolved",
  { id, source, name, severity, agent_id }: AlertRecord,
  { reason = null }: Remark,
): void {
  emit(work, work.tx, work.actor.tenant, {
    type,
    resource: { type: "alert", id },
    ...(agent_id !== null && { agentId: agent_id }),
    thread: id,
    details: { source, name, severity, reason },
  });
}

/** An alert as answers show it. */
function showAlert(alert: AlertRecord) {
  return {
    alert_id: alert.id,
    source: alert.source,
    name: alert.name,
    severity: alert.severity,
    state: alert.state,
    fingerprint: alert.fingerprint,
    agent_id: alert.agent_id,
    thread: alert.id,
    labels: alert.labels,
    annotations: alert.annotations,
    starts_at: iso(alert.starts_at_ms),
    ends_at: isoOrNull(alert.ends_at_ms),
    first_seen_at: iso(alert.first_seen_ms),
    last_seen_at: iso(alert.last_seen_ms),
    count: alert.count,
    acknowledged_at: isoOrNull(alert.acknowledged_at_ms),
    acknowledged_by: alert.acknowledged_by,
    resolved_at: isoOrNull(alert.resolved_at_ms),
    resolved_by: alert.resolved_by,
    reason: alert.reason,
  };
}
