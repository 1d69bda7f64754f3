import { z } from "zod";
import { collection, type KeyParts } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** A caller's Idempotency-Key and the digest of the call that used it. */
export const Idempotency = z.strictObject({
  key: z.string(),
  /** SHA-256, hex. */
  digest: z.string(),
});
export type Idempotency = z.infer<typeof Idempotency>;

/** The entry of the unique index over keys. Keys of different callers are independent. */
export const keyOfCaller = (actor: string, key: string): KeyParts => [actor, key];

/** The answer to a change that carried an Idempotency-Key. */
export const IdempotencyRecord = z.strictObject({
  id: z.string(),
  actor: z.string(),
  ...Idempotency.shape,
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
  unique: { key: (record) => keyOfCaller(record.actor, record.key) },
  expiresAt: (record) => record.expires_at_ms,
});
