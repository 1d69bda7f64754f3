import { hash } from "node:crypto";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type AlertRecord, alerts } from "../../../kv/records/alert.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Ports } from "../../ports/ports.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import type { Report } from "./report.ts";

/** How long a resolved alert is kept. */
const RESOLVED_KEPT_MS = 30 * DAY_MS;
/** How long an active alert is kept after its last report. */
const SILENT_KEPT_MS = 90 * DAY_MS;
/** The same delivery within this time is a retry; later it reports that the alert is still active. */
const RETRY_MS = 10 * 60 * 1000;

/** The origin of a report. */
export interface Origin {
  readonly source: string;
  /** The user, key or token that sent it. */
  readonly by: string;
  /** Digest of its delivery; null when repetitions count. */
  readonly delivery: string | null;
  /** How often the request holds this report; 1 by default. */
  readonly times?: number;
}

/** The effect of a report. */
export type ReportOutcome = "created" | "reopened" | "updated" | "resolved" | "repeated";

/** Records a report: at most one alert for a source and a fingerprint. */
export async function recordReport(
  { clock }: Pick<Ports, "clock">,
  tx: Tx,
  tenant: Tenant,
  origin: Origin,
  report: Report,
): Promise<ReportOutcome> {
  const { source, delivery } = origin;
  const now = clock.now();
  const id = alertIdOf(tenant, source, report.fingerprint);
  const known = await tx.get(alerts, tenant, id);
  if (known === null) {
    tx.put(alerts, tenant, withExpiry(newAlert(id, origin, report, now), now));
    return "created";
  }
  if (delivery !== null && known.delivery === delivery && now < known.last_seen_ms + RETRY_MS) {
    return "repeated";
  }
  const next = report.state === "resolved"
    ? ended(known, origin, report, now)
    : seenAgain(known, origin, report, now);
  tx.put(alerts, tenant, withExpiry(next, now));
  if (next.state === known.state) return "updated";
  return next.state === "resolved" ? "resolved" : "reopened";
}

/** An alert with its expiry, counted from now. */
export function withExpiry(alert: AlertRecord, nowMs: number): AlertRecord {
  const keptMs = alert.state === "resolved" ? RESOLVED_KEPT_MS : SILENT_KEPT_MS;
  return { ...alert, expires_at_ms: nowMs + keptMs };
}

/** The id of the alert of a source and a fingerprint. */
export function alertIdOf(tenant: Tenant, source: string, fingerprint: string): string {
  const text = JSON.stringify([tenant.org, tenant.space, source, fingerprint]);
  return `alr_${hash("sha256", text).slice(0, 32)}`;
}

function newAlert(
  id: string,
  { source, by, delivery, times = 1 }: Origin,
  report: Report,
  now: number,
): AlertRecord {
  const over = report.state === "resolved";
  return {
    id,
    source,
    ...contentOf(report),
    state: report.state,
    starts_at_ms: report.startsAtMs ?? now,
    ends_at_ms: over ? report.endsAtMs ?? now : null,
    first_seen_ms: now,
    last_seen_ms: now,
    count: over ? 0 : times,
    acknowledged_at_ms: null,
    acknowledged_by: null,
    resolved_at_ms: over ? now : null,
    resolved_by: over ? by : null,
    reason: null,
    delivery,
    expires_at_ms: now,
  };
}

function seenAgain(
  known: AlertRecord,
  { delivery, times = 1 }: Origin,
  report: Report,
  now: number,
): AlertRecord {
  const again = known.state === "resolved";
  return {
    ...known,
    ...contentOf(report),
    state: "active",
    ...again && { acknowledged_at_ms: null, acknowledged_by: null },
    starts_at_ms: report.startsAtMs ?? (again ? now : known.starts_at_ms),
    ends_at_ms: null,
    last_seen_ms: now,
    count: known.count + times,
    resolved_at_ms: null,
    resolved_by: null,
    reason: null,
    delivery,
  };
}

/** The first resolution of an alert stays on record. */
function ended(
  known: AlertRecord,
  { by, delivery }: Origin,
  report: Report,
  now: number,
): AlertRecord {
  const seen = { ...known, last_seen_ms: now, delivery };
  if (known.state === "resolved") return seen;
  return {
    ...seen,
    ...contentOf(report),
    state: "resolved",
    ends_at_ms: report.endsAtMs ?? now,
    resolved_at_ms: now,
    resolved_by: by,
  };
}

function contentOf({ fingerprint, name, severity, agentId, labels, annotations }: Report) {
  return { fingerprint, name, severity, agent_id: agentId, labels, annotations };
}
