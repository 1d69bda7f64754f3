import { z } from "zod";
import { count, id } from "./fields.ts";
import { event } from "./event.ts";

const filter = z.strictObject({
  start_time: z.iso.datetime().optional(),
  end_time: z.iso.datetime().optional(),
  event_type: z.string().optional(),
  actor: z.string().optional(),
  agent_id: z.string().optional(),
  resource_type: z.string().optional(),
  resource_id: z.string().optional(),
  thread: z.string().optional(),
  result: z.string().optional(),
  text: z.string().optional(),
}).describe("The conditions of the query; empty for all events.");

/** Reads of the audit log, and compliance reports. */
export const auditEvents = {
  audit_read: event({
    meaning: "the audit log was queried",
    details: z.strictObject({ filter, events: count("The number of events shown") }),
    example: { filter: { event_type: "command_denied" }, events: 3 },
  }),
  audit_exported: event({
    meaning: "the audit log was exported",
    details: z.strictObject({
      filter,
      format: z.string().describe("The media type."),
      tree_size: count("The number of rows in the log"),
    }),
    example: {
      filter: { start_time: "2026-01-01T00:00:00.000Z" },
      format: "application/x-ndjson",
      tree_size: 4211,
    },
  }),
  audit_checkpoint_read: event({
    meaning: "a checkpoint of the audit log was read",
    details: z.strictObject({ tree_size: count("The number of rows that the checkpoint covers") }),
    example: { tree_size: 4211 },
  }),
  audit_proof_read: event({
    meaning: "a proof about the audit log was read",
    details: z.strictObject({
      event_id: z.string().optional().describe("The event whose inclusion was proved."),
      from: z.int().optional().describe("The size from which growth was proved."),
      to: z.int().optional().describe("The size up to which growth was proved."),
    }),
    example: { event_id: "51e7727e-f969-4887-aa06-5f7850849df8" },
  }),
  compliance_report_requested: event({
    meaning: "a compliance report was requested",
    details: z.strictObject({
      type: z.string().describe("The report type."),
      period: z.strictObject({
        asked: z.string().describe("The period as requested."),
        from: z.iso.datetime(),
        to: z.iso.datetime(),
      }),
    }),
    example: {
      type: "soc2",
      period: {
        asked: "2026-Q1",
        from: "2026-01-01T00:00:00.000Z",
        to: "2026-04-01T00:00:00.000Z",
      },
    },
  }),
  compliance_evidence_taken: event({
    meaning: "the evidence about a period was taken as an archive",
    details: z.strictObject({
      evidence_id: id("evidence"),
      period: z.strictObject({
        asked: z.string().describe("The period as requested."),
        from: z.iso.datetime(),
        to: z.iso.datetime(),
      }),
      tree_size: count("The number of rows in the log"),
    }),
    example: {
      evidence_id: "evd_0m3x6",
      period: {
        asked: "2026-Q1",
        from: "2026-01-01T00:00:00.000Z",
        to: "2026-03-31T23:59:59.999Z",
      },
      tree_size: 4211,
    },
  }),
  compliance_report_read: event({
    meaning: "a compliance report was read",
    details: z.strictObject({ report_id: id("report") }),
    example: { report_id: "rep_0m3x6" },
  }),
  compliance_schedule_changed: event({
    meaning: "the schedule of compliance reports was changed or ended",
    details: z.strictObject({
      every: z.string().nullable().describe("`month` or `quarter`; null for no more reports."),
      types: z.array(z.string()).describe("The report types."),
      keep_days: z.int().nullable().describe("Days that its reports are kept; null for no limit."),
    }),
    example: { every: "quarter", types: ["soc2", "access-review"], keep_days: 2555 },
  }),
  compliance_report_failed: event({
    meaning: "a compliance report failed",
    result: "failure",
    details: z.strictObject({
      failures: count("The number of attempts"),
      log: z.string().describe("The log it covers: organization and space."),
    }),
    example: { failures: 5, log: "org_0m3x0/live" },
  }),
} as const;
