import { z } from "zod";
import { BlobRef } from "../store/blob.ts";
import { collection } from "../store/collection.ts";

export const REPORT_TYPES = [
  "soc2",
  "iso27001",
  "hipaa",
  "pci",
  "access-review",
  "commands",
] as const;
export type ReportType = (typeof REPORT_TYPES)[number];

export const REPORT_STATUSES = ["queued", "running", "completed", "failed"] as const;

/** A compliance report: a job until it has ended, and what it made. */
export const ReportRecord = z.strictObject({
  id: z.string(),
  type: z.enum(REPORT_TYPES),
  /** The period as it was asked for, and its first and last millisecond. */
  period: z.strictObject({ asked: z.string(), from_ms: z.number(), to_ms: z.number() }),
  status: z.enum(REPORT_STATUSES),
  /** The user or key that asked. */
  requested_by: z.string(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  /** How often it was begun again after an error. */
  failures: z.int(),
  /** The state of the log that it reads, and how far it has come; null before it has begun. */
  scan: z.strictObject({
    /** The signed checkpoint. */
    checkpoint: z.string(),
    /** Rows of the log at that checkpoint. */
    size: z.int(),
    /** The row before the first that may belong to the period. */
    start: z.int(),
    /** The last row that was read. */
    position: z.int(),
    /** What was counted so far; null when nothing was. */
    counted: BlobRef.nullable(),
  }).nullable(),
  /** The finished pack, as canonical JSON, and the note that signs it. */
  pack: z.strictObject({ blob: BlobRef, sha256: z.string(), note: z.string() }).nullable(),
});
export type ReportRecord = z.infer<typeof ReportRecord>;

export const reports = collection({
  name: "reports",
  schema: ReportRecord,
  index: {
    finished: (report) => report.finished_at_ms === null ? null : [report.finished_at_ms],
    under_way: (report) => report.finished_at_ms === null ? [report.created_at_ms] : null,
  },
  queue: { unfinished: (report) => report.finished_at_ms === null ? [report.created_at_ms] : null },
  counted: true,
});
