import { z } from "zod";
import { listAlerts, resolveAlert } from "../core/alerts/alerts.ts";
import { ingestAlerts } from "../core/alerts/ingest.ts";
import { REPORTS_MAX } from "../core/alerts/report.ts";
import { ALERT_SEVERITIES, ALERT_STATES } from "../kv/records/alert.ts";
import { route } from "./_route.ts";
import { Id, listOf, PageQuery, Reason, Timestamp } from "./_schemas.ts";

const INGEST_BYTES_MAX = 8 * 1024 * 1024;

const Texts = z.record(z.string(), z.string());
const Alert = z.object({
  alert_id: z.string(),
  source: z.string(),
  name: z.string(),
  severity: z.enum(ALERT_SEVERITIES),
  state: z.enum(ALERT_STATES),
  fingerprint: z.string().meta({ description: "Names the alert within its source." }),
  agent_id: z.string().nullable(),
  labels: Texts,
  annotations: Texts,
  starts_at: Timestamp,
  ends_at: Timestamp.nullable(),
  first_seen_at: Timestamp,
  last_seen_at: Timestamp,
  count: z.int().meta({ description: "How often it was reported as active." }),
  resolved_at: Timestamp.nullable(),
  resolved_by: z.string().nullable(),
  reason: z.string().nullable(),
}).meta({ id: "Alert" });

const Source = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "letters, digits, dots, dashes and underscores, at most 64",
).meta({ examples: ["nightly-jobs"] });

export const alertRoutes = [
  route({
    id: "alerts.list",
    method: "GET",
    path: "/api/shield/alerts",
    summary: "Alerts, the active ones unless asked otherwise, newest first",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery.extend({
      state: z.enum(ALERT_STATES).default("active").meta({ description: "Alerts of this state." }),
      severity: z.enum(ALERT_SEVERITIES).optional().meta({
        description: "Alerts of this very severity.",
      }),
      source: Source.optional().meta({ description: "Alerts of this source." }),
      agent_id: Id.optional(),
    }),
    success: { status: 200, body: listOf("alerts", Alert) },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listAlerts(work, query),
  }),
  route({
    id: "alerts.resolve",
    method: "POST",
    path: "/api/shield/resolve",
    summary: "Resolve an alert; its source opens it again when it reports it again",
    access: { scope: "approvals:write" },
    effect: "write",
    audit: { byRule: "alert_resolved" },
    body: z.strictObject({ alert_id: Id, reason: Reason.optional() }),
    success: { status: 200, body: Alert },
    faults: ["NOT_FOUND", "CONFLICT"],
    tool: { destructive: false },
    handle: (work, { body }) => resolveAlert(work, body),
  }),
  route({
    id: "alerts.ingest",
    method: "POST",
    path: "/api/shield/ingest",
    summary: "Import alerts; the same one again changes the one that is there",
    description: "Each alert takes `name`, and may take `severity` (`info`, `warning`, " +
      "`critical`), `state` (`active`, `resolved`), `fingerprint`, `agent_id`, `labels`, " +
      "`annotations`, `starts_at` and `ends_at`. Without a fingerprint, the name and the labels are " +
      "one. What is malformed is told by its index; all others are stored.",
    access: { scope: "system:write" },
    effect: "steps",
    audit: { byRule: "alerts_ingested" },
    body: z.strictObject({ source: Source, alerts: z.array(z.unknown()).max(REPORTS_MAX) }),
    bodyBytesMax: INGEST_BYTES_MAX,
    rules: { "body.source": "is not the shield's own" },
    success: {
      status: 200,
      body: z.object({
        stored: z.int().meta({ description: "How many of the alerts were taken." }),
        created: z.int(),
        updated: z.int(),
        resolved: z.int(),
        errors: z.array(z.object({ index: z.int(), message: z.string() })),
      }),
    },
    faults: [],
    handle: (work, { body }) => ingestAlerts(work, body),
  }),
];
