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

/** A compliance report: its job, and then its result. */
export const ReportRecord = z.strictObject({
  id: z.string(),
  type: z.enum(REPORT_TYPES),
  /** The period as requested, and its first and last millisecond. */
  period: z.strictObject({ asked: z.string(), from_ms: z.number(), to_ms: z.number() }),
  status: z.enum(REPORT_STATUSES),
  /** The user or key that asked. */
  requested_by: z.string(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
  /** How often it was retried after an error. */
  failures: z.int(),
  /** The log state that it reads, and its progress; null before it has begun. */
  scan: z.strictObject({
    /** The signed checkpoint. */
    checkpoint: z.string(),
    /** The log's size at that checkpoint. */
    size: z.int(),
    /** The row before the first one that may be in the period. */
    start: z.int(),
    /** The last row that was read. */
    position: z.int(),
    /** The counts so far; null when there are none. */
    counted: BlobRef.nullable(),
  }).nullable(),
  /** The finished pack, as canonical JSON, with its signed note. */
  pack: z.strictObject({ blob: BlobRef, sha256: z.string(), note: z.string() }).nullable(),
});
export type ReportRecord = z.infer<typeof ReportRecord>;

export const SCHEDULED_EVERY = ["month", "quarter"] as const;
export type ScheduledEvery = (typeof SCHEDULED_EVERY)[number];

/** The reports of an organization that the relay requests by itself after each period. */
const ReportScheduleRecord = z.strictObject({
  /** Always the same: an organization has one schedule in each space. */
  id: z.string(),
  every: z.enum(SCHEDULED_EVERY),
  types: z.array(z.enum(REPORT_TYPES)).min(1),
  /** Days that the reports made by it are kept; null for as long as there is room. */
  keep_days: z.int().nullable(),
  /** When it is due next, after the end of the period then reported. */
  next_ms: z.number(),
  set_by: z.string(),
  set_at_ms: z.number(),
});
export type ReportScheduleRecord = z.infer<typeof ReportScheduleRecord>;

export const reportSchedules = collection({
  name: "report_schedules",
  schema: ReportScheduleRecord,
  queue: { due: ({ next_ms }) => [next_ms] },
});

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
