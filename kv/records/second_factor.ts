import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** A person's second factor, in the organization's live space. The id is the user's. */
export const SecondFactorRecord = z.strictObject({
  id: z.string(),
  /** The TOTP secret in base32, sealed. */
  sealed_secret: Sealed,
  created_at_ms: z.number(),
  /** Null until a first code proved that the person has the secret. */
  confirmed_at_ms: z.number().nullable(),
  /** The time step of the last accepted code, so that no code is accepted twice. */
  last_step: z.number(),
  /** SHA-256 of each unused recovery code, hex. */
  recovery_hashes: z.array(z.string()),
});
export type SecondFactorRecord = z.infer<typeof SecondFactorRecord>;

export const secondFactors = collection({ name: "second_factors", schema: SecondFactorRecord });
