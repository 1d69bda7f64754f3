import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** The answer to a change that carried an Idempotency-Key. */
export const IdempotencyRecord = z.strictObject({
  id: z.string(),
  actor: z.string(),
  key: z.string(),
  /** SHA-256 of the request, hex. */
  digest: z.string(),
  /** `begun` until it has an outcome; `accepted` when it goes on after its answer. */
  outcome: z.enum(["begun", "result", "accepted", "fault"]),
  /** The answer as JSON, sealed; null when there is none yet or it is too large. */
  sealed: Sealed.nullable(),
  expires_at_ms: z.number(),
});
export type IdempotencyRecord = z.infer<typeof IdempotencyRecord>;

export const idempotencyRecords = collection({
  name: "idempotency",
  schema: IdempotencyRecord,
  unique: { key: (record) => [record.actor, record.key] },
  expiresAt: (record) => record.expires_at_ms,
});
