import type { z } from "zod";

/** The outcomes that a filter may ask for. */
export const RESULTS = ["success", "failure", "denied"] as const;
export type Result = (typeof RESULTS)[number];

/** The outcome of an event type: fixed, or derived from the details of each event. */
export type Outcome = Result | ((details: Readonly<Record<string, unknown>>) => Result);

/** An event type of the audit log. */
export interface AuditEventType<Details extends z.ZodObject = z.ZodObject> {
  readonly meaning: string;
  /** Absent for a success. */
  readonly result?: Outcome;
  readonly details: Details;
  /** Example details, for the documentation. */
  readonly example: z.infer<Details>;
}

/** Checks an example against the schema of its details. */
export function event<Details extends z.ZodObject>(
  row: AuditEventType<Details>,
): AuditEventType<Details> {
  return row;
}
