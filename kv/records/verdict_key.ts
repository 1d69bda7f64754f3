import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** The Ed25519 key that signs what a tenant's agents are told to run. Every tenant has one from its first moment. */
const VerdictKeyRecord = z.strictObject({
  /** The tenant, as `tenantKey` writes it. */
  id: z.string(),
  /** The 32 raw bytes, base64url: what agents pin. */
  public_key: z.string(),
  /** The 32 bytes of the private half, base64url. */
  sealed_private_key: Sealed,
  created_at_ms: z.number(),
  /** How the keys before it, oldest first, handed over to the next: its signature over `handoverText`. */
  handovers: z.array(z.strictObject({ from: z.string(), to: z.string(), signature: z.string() }))
    .default([]),
});

export type VerdictKeyRecord = z.infer<typeof VerdictKeyRecord>;

export const verdictKeys = collection({
  name: "verdict_keys",
  schema: VerdictKeyRecord,
  cached: 20_000,
});
