import { z } from "zod";
import {
  acknowledgeAlert,
  getAlert,
  ingestAlerts,
  listAlerts,
  REPORTS_MAX,
  resolveAlert,
} from "../core/agents/agents.ts";
import { ALERT_STATES } from "../kv/records/alert.ts";
import { route } from "./call/route.ts";
import {
  AgentFilter,
  Id,
  listOf,
  PageQuery,
  Reason,
  Severity,
  Timestamp,
} from "./schemas/schemas.ts";

const INGEST_BYTES_MAX = 8 * 1024 * 1024;

const Texts = z.record(z.string(), z.string());
const AlertState = z.enum(ALERT_STATES).meta({ id: "AlertState" });
const Alert = z.object({
  alert_id: z.string(),
  source: z.string(),
  name: z.string(),
  severity: Severity,
  state: AlertState,
  fingerprint: z.string().meta({ description: "Identifies the alert within its source." }),
  agent_id: z.string().nullable(),
  thread: z.string().meta({
    description: "The alert's id, by which the audit log and streams filter its story.",
  }),
  labels: Texts,
  annotations: Texts,
  starts_at: Timestamp,
  ends_at: Timestamp.nullable(),
  first_seen_at: Timestamp,
  last_seen_at: Timestamp,
  count: z.int().meta({ description: "The number of times that it was reported as active." }),
  acknowledged_at: Timestamp.nullable(),
  acknowledged_by: z.string().nullable().meta({
    description: "The user or API key that acknowledged it since it last became active.",
  }),
  resolved_at: Timestamp.nullable(),
  resolved_by: z.string().nullable(),
  reason: z.string().nullable(),
}).meta({ id: "Alert" });

const Remark = z.strictObject({ alert_id: Id, reason: Reason.optional() })
  .meta({ id: "AlertRemark" });

const Source = z.string().regex(
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
  "must be letters, digits, dots, dashes and underscores, at most 64",
).meta({ examples: ["nightly-jobs"] });

export const alertRoutes = [
  route({
    id: "alerts.list",
    method: "GET",
    path: "/api/shield/alerts",
    summary: "List alerts, newest first",
    access: { scope: "system:read" },
    effect: "read",
    query: PageQuery.extend({
      state: AlertState.default("active").meta({
        description: "Alerts in this state; the active ones by default.",
      }),
      severity: Severity.optional().meta({
        description: "Alerts of exactly this severity.",
      }),
      source: Source.optional().meta({ description: "Alerts from this source." }),
      agent_id: AgentFilter.optional(),
      text: z.string().min(1).max(128).optional().meta({
        description:
          "A text that occurs in the name, the source or the summary, ignoring case. Of the " +
          "alerts that the other filters choose, it searches the newest 2,000.",
      }),
    }),
    success: { status: 200, body: listOf("alerts", Alert) },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "list_alerts", destructive: false, common: true },
    handle: (work, { query }) => listAlerts(work, query),
  }),
  route({
    id: "alerts.get",
    method: "GET",
    path: "/api/shield/alerts/{id}",
    summary: "Get an alert",
    access: { scope: "system:read" },
    effect: "read",
    params: z.strictObject({ id: Id }),
    success: { status: 200, body: Alert },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getAlert(work, params.id),
  }),
  route({
    id: "alerts.acknowledge",
    method: "POST",
    path: "/api/shield/acknowledge",
    summary: "Acknowledge an alert",
    description:
      "Shows others that somebody looks after it. The alert stays active. It is no longer " +
      "acknowledged when it is resolved and reported again.",
    access: { scope: "approvals:write" },
    effect: "write",
    audit: { byRule: "alert_acknowledged" },
    body: Remark,
    success: { status: 200, body: Alert },
    faults: ["NOT_FOUND", "CONFLICT"],
    tool: { name: "acknowledge_alert", destructive: false },
    handle: (work, { body }) => acknowledgeAlert(work, body),
  }),
  route({
    id: "alerts.resolve",
    method: "POST",
    path: "/api/shield/resolve",
    summary: "Resolve an alert",
    description: "The alert becomes active again if its source reports it again.",
    access: { scope: "approvals:write" },
    effect: "write",
    audit: { byRule: "alert_resolved" },
    body: Remark,
    success: { status: 200, body: Alert },
    faults: ["NOT_FOUND", "CONFLICT"],
    tool: { name: "resolve_alert", destructive: false },
    handle: (work, { body }) => resolveAlert(work, body),
  }),
  route({
    id: "alerts.ingest",
    method: "POST",
    path: "/api/shield/ingest",
    summary: "Import alerts",
    description:
      "Each alert needs a name (`name`, or `title` and others). It may have `severity` " +
      "(`info`, `warning`, `critical`, or a word of another scale in any case), `state`, " +
      "`fingerprint` or `id`, `agent_id`, `labels`, `annotations`, `description`, `starts_at` " +
      "or `timestamp`, and `ends_at`. Without a fingerprint, name and labels identify the " +
      "alert. An alert that is stored already is updated. Unknown fields are kept in the " +
      "annotation `payload`. Malformed alerts are reported by index; all others are stored.",
    access: { scope: "system:write" },
    effect: "steps",
    audit: { byRule: "alerts_ingested" },
    body: z.strictObject({ source: Source, alerts: z.array(z.unknown()).max(REPORTS_MAX) }),
    bodyBytesMax: INGEST_BYTES_MAX,
    rules: {
      "body.source": "must not be `shield`, which only the shield reports as",
      "body.alerts": "must be empty or hold at least one readable alert",
    },
    success: {
      status: 200,
      body: z.object({
        accepted: z.int().meta({ description: "The number of alerts accepted." }),
        rejected: z.int().meta({
          description: "The number of unreadable alerts; `errors` says why.",
        }),
        stored: z.int().meta({ description: "Deprecated name of `accepted`." }),
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
