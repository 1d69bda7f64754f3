import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** A person's second factor. Lives in the live space of the organization; the id is the user's. */
export const SecondFactorRecord = z.strictObject({
  id: z.string(),
  /** The TOTP secret in base32, sealed. */
  sealed_secret: Sealed,
  created_at_ms: z.number(),
  /** Null until a first code has shown that the person has the secret. */
  confirmed_at_ms: z.number().nullable(),
  /** The time step of the last code that was taken: no code is taken twice. */
  last_step: z.number(),
  /** SHA-256 of each recovery code that is left, hex. */
  recovery_hashes: z.array(z.string()),
});
export type SecondFactorRecord = z.infer<typeof SecondFactorRecord>;

export const secondFactors = collection({ name: "second_factors", schema: SecondFactorRecord });
