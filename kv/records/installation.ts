import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** The state of the whole installation: one record in the system tenant. */
export const InstallationRecord = z.strictObject({
  id: z.literal("installation"),
  /** Fingerprints of all secrets that may have sealed a value, newest first. A relay that lacks one does not start. */
  secret_fingerprints: z.array(z.string()).min(1),
  /** Names this history of the logs. A restored backup begins another. */
  epoch: z.string(),
  created_at_ms: z.number(),
});
export type InstallationRecord = z.infer<typeof InstallationRecord>;

export const installations = collection({
  name: "installation",
  schema: InstallationRecord,
  cached: 1,
});

/** A key that signs JWTs; the private half is sealed. */
export const SigningKeyRecord = z.strictObject({
  id: z.string(),
  public_jwk: z.record(z.string(), z.unknown()),
  sealed_private_jwk: Sealed,
  created_at_ms: z.number(),
  /** It signs until then, and verifies for one token lifetime longer. */
  signs_until_ms: z.number(),
  expires_at_ms: z.number(),
});
export type SigningKeyRecord = z.infer<typeof SigningKeyRecord>;

export const signingKeys = collection({
  name: "signing_keys",
  schema: SigningKeyRecord,
  expiresAt: (key) => key.expires_at_ms,
});

/** The key that signs: one record in the system tenant, so that only one of several simultaneous new keys signs. */
const SignerRecord = z.strictObject({ id: z.literal("signer"), kid: z.string() });

export const signers = collection({ name: "signer", schema: SignerRecord });
