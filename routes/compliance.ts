import { z } from "zod";
import { PERIOD_RULE } from "../core/codec/codec.ts";
import {
  listReports,
  readReport,
  readSchedule,
  requestReport,
  setSchedule,
  takeEvidence,
} from "../core/host/host.ts";
import { REPORT_STATUSES, REPORT_TYPES, SCHEDULED_EVERY } from "../kv/records/report.ts";
import { acceptedOf } from "./call/accept.ts";
import { HTML, reportPage } from "./pages/report_page.ts";
import { route } from "./call/route.ts";
import { Id, listOf, PageQuery, Period, Timestamp } from "./schemas/schemas.ts";

const ReportType = z.enum(REPORT_TYPES).meta({ id: "ReportType" });
const Report = z.object({
  id: z.string(),
  type: ReportType,
  status: z.enum(REPORT_STATUSES),
  period: z.object({ asked: z.string(), from: Timestamp, to: Timestamp })
    .describe("Both ends are inclusive."),
  progress: z.object({
    rows_read: z.int(),
    rows_total: z.int().nullable().describe("Null before the count begins."),
  }),
  requested_by: z.string(),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
  sha256: z.string().nullable().describe(
    "The SHA-256 of the finished report's canonical JSON, in hex.",
  ),
}).meta({ id: "ComplianceReport" });

const Every = z.enum(SCHEDULED_EVERY).meta({ id: "ReportInterval" });
const Schedule = z.object({
  every: Every.nullable().describe("Null for no schedule."),
  types: z.array(ReportType),
  keep_days: z.int().nullable(),
  next_at: Timestamp.nullable().describe("An hour after the end of the period then reported."),
  set_by: z.string().nullable(),
  set_at: Timestamp.nullable(),
}).meta({ id: "ReportSchedule" });
const KEEP_DAYS_MAX = 36_500;

const READERS = { scope: ["system:read", "compliance:read"] } as const;
const FORMATS = { json: "application/json", html: "text/html" } as const;

export const complianceRoutes = [
  route({
    id: "compliance.generate",
    method: "POST",
    path: "/api/v1/compliance/report/generate",
    summary: "Generate a compliance report from the audit log",
    description:
      "This starts a job: read its `status` with `GET /api/v1/compliance/report?id=`, or wait " +
      "for `compliance_report_generated`. It resumes after a restart.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "compliance_report_requested",
      resource: "report",
      id: (report) => report.id,
      details: ({ type, period }) => ({ type, period }),
    },
    body: z.strictObject({
      type: ReportType.meta({ description: "The evidence pack." }),
      period: Period,
    }),
    rules: { "body.period": PERIOD_RULE },
    success: { status: 202, body: Report },
    faults: ["CONFLICT"],
    tool: { name: "generate_compliance_report", destructive: false },
    handle: (work, { body }, { reports }) => requestReport(work, reports, body),
  }),
  route({
    id: "compliance.report",
    method: "GET",
    path: "/api/v1/compliance/report",
    summary: "Get a compliance report",
    description:
      "Returns the report as JSON or as a printable page; without `id`, the newest completed " +
      "report. The JSON is the record with `report` (null until it is completed), the signed " +
      "`note` over its SHA-256, and the `public_key`. `format` takes precedence over Accept.",
    access: READERS,
    effect: "read",
    noStore: true,
    query: z.strictObject({
      id: Id.optional().meta({ description: "The id of a report." }),
      format: z.enum(["json", "html"]).optional().meta({
        description: "Takes precedence over `Accept`.",
      }),
    }),
    success: { status: 200, content: [FORMATS.json, HTML] },
    faults: ["NOT_FOUND", "NOT_ACCEPTABLE"],
    handle: async (work, { query: { id, format }, accept }) => {
      const type = format === undefined
        ? acceptedOf(accept, Object.values(FORMATS))
        : FORMATS[format];
      const read = await readReport(work, id);
      return type === FORMATS.html ? reportPage(read) : { type, body: JSON.stringify(read) };
    },
  }),
  route({
    id: "compliance.evidence",
    method: "GET",
    path: "/api/v1/compliance/evidence",
    summary: "Take the evidence about a period as one archive",
    description:
      "Streams a tar archive with a report of every type, the rows of the audit log with their " +
      "proof, checkpoints and those that agents witnessed, receipts of commands, public keys, and " +
      "two verifiers that need no network. It also needs `system:read` or `audit:read`.",
    access: READERS,
    effect: "read",
    noStore: true,
    query: z.strictObject({ period: Period }),
    rules: { "query.period": PERIOD_RULE },
    success: { status: 200, content: ["application/x-tar"] },
    faults: [],
    handle: (work, { query: { period } }, relay) =>
      takeEvidence(work, relay, period, (report) => reportPage(report).body),
  }),
  route({
    id: "compliance.schedule",
    method: "GET",
    path: "/api/v1/compliance/schedule",
    summary: "Get the schedule of compliance reports",
    access: READERS,
    effect: "read",
    success: { status: 200, body: Schedule },
    faults: [],
    handle: (work) => readSchedule(work),
  }),
  route({
    id: "compliance.set_schedule",
    method: "PUT",
    path: "/api/v1/compliance/schedule",
    summary: "Set the schedule of compliance reports",
    description:
      "After each month or quarter (UTC) the relay generates a report of each type by itself, " +
      "beginning with the present period.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "compliance_schedule_changed",
      resource: "report",
      id: () => "schedule",
      details: ({ every, types, keep_days }) => ({ every, types, keep_days }),
    },
    body: z.strictObject({
      every: Every.nullable().meta({ description: "Null ends the schedule." }),
      types: z.array(ReportType).min(1).max(REPORT_TYPES.length).default([...REPORT_TYPES])
        .meta({ description: "All types by default." }),
      keep_days: z.int().min(1).max(KEEP_DAYS_MAX).nullable().default(null).meta({
        description:
          "Days that reports of the schedule are kept; null for as long as there is room.",
      }),
    }),
    success: { status: 200, body: Schedule },
    faults: [],
    handle: (work, { body }) => setSchedule(work, body),
  }),
  route({
    id: "compliance.reports",
    method: "GET",
    path: "/api/v1/compliance/reports",
    summary: "List compliance reports, newest first",
    access: READERS,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("reports", Report) },
    faults: [],
    tool: { name: "list_compliance_reports", destructive: false },
    handle: (work, { query }) => listReports(work, query),
  }),
];
