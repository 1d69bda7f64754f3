import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** What a change answered that its caller may ask for again. */
export const IdempotencyRecord = z.strictObject({
  id: z.string(),
  actor: z.string(),
  key: z.string(),
  /** SHA-256 of what was asked, hex. */
  digest: z.string(),
  /** `begun`: nothing is known of its end yet; `accepted`: it answered that it goes on. */
  outcome: z.enum(["begun", "result", "accepted", "fault"]),
  /** The answer as JSON, sealed; null when there is none yet, or it is too large to be kept. */
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
