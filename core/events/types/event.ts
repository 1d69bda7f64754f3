import type { z } from "zod";

/** An event type of the audit log. */
export interface AuditEventType<Details extends z.ZodObject = z.ZodObject> {
  readonly meaning: string;
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
