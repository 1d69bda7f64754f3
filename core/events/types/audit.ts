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
  result: z.string().optional(),
  text: z.string().optional(),
}).describe("The conditions that were asked for; empty for all events.");

/** Looks at the audit log, and reports made from it. */
export const auditEvents = {
  audit_read: event({
    meaning: "the audit log was queried",
    details: z.strictObject({ filter, events: count("How many events were shown") }),
    example: { filter: { event_type: "command_denied" }, events: 3 },
  }),
  audit_exported: event({
    meaning: "the audit log was exported",
    details: z.strictObject({
      filter,
      format: z.string().describe("The media type."),
      tree_size: count("How many rows the log had"),
    }),
    example: {
      filter: { start_time: "2026-01-01T00:00:00.000Z" },
      format: "application/x-ndjson",
      tree_size: 4211,
    },
  }),
  audit_checkpoint_read: event({
    meaning: "a checkpoint of the audit log was asked for",
    details: z.strictObject({ tree_size: count("How many rows the checkpoint speaks of") }),
    example: { tree_size: 4211 },
  }),
  audit_proof_read: event({
    meaning: "a proof about the audit log was asked for",
    details: z.strictObject({
      event_id: z.string().optional().describe("The event whose inclusion was proved."),
      from: z.int().optional().describe("The size from which growth was proved."),
      to: z.int().optional().describe("The size up to which growth was proved."),
    }),
    example: { event_id: "51e7727e-f969-4887-aa06-5f7850849df8" },
  }),
  compliance_report_requested: event({
    meaning: "a compliance report was asked for",
    details: z.strictObject({
      type: z.string().describe("The kind of report."),
      period: z.strictObject({
        asked: z.string().describe("As it was asked for."),
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
  compliance_report_read: event({
    meaning: "a compliance report was read",
    details: z.strictObject({ report_id: id("report") }),
    example: { report_id: "rep_0m3x6" },
  }),
  compliance_report_failed: event({
    meaning: "a compliance report could not be made",
    details: z.strictObject({
      failures: count("How often it was tried"),
      log: z.string().describe("The log that it is about: organization and space."),
    }),
    example: { failures: 5, log: "org_0m3x0/live" },
  }),
} as const;
