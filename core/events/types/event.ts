import type { z } from "zod";

/** An event type that only the audit log has. */
export interface AuditEventType<Details extends z.ZodObject = z.ZodObject> {
  readonly meaning: string;
  readonly details: Details;
  /** Details as they may come, for the documentation. */
  readonly example: z.infer<Details>;
}

/** Ties an example to the schema of its details. */
export function event<Details extends z.ZodObject>(
  row: AuditEventType<Details>,
): AuditEventType<Details> {
  return row;
}
