import { z } from "zod";
import { collection } from "../store/collection.ts";

/** Attempts to give a secret, where several instances count them. */
const SecretAttemptsRecord = z.strictObject({
  /** The limit's name, and the SHA-256 of what it counts by, hex. */
  id: z.string(),
  failed: z.int(),
  /** When the failures expire. */
  until_ms: z.number(),
  /** Attempts that have not ended, or whose process died. */
  under_way: z.int(),
  expires_at_ms: z.number(),
});

export const secretAttempts = collection({
  name: "secret_attempts",
  schema: SecretAttemptsRecord,
  expiresAt: (attempts) => attempts.expires_at_ms,
});
