import { z } from "zod";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

/** The Ed25519 key that signs verdicts for a tenant's agents. Every tenant has one from its creation. */
const VerdictKeyRecord = z.strictObject({
  /** The tenant, as `tenantKey` writes it. */
  id: z.string(),
  /** The 32 raw bytes, base64url, which agents pin. */
  public_key: z.string(),
  /** The 32 bytes of the private half, base64url. */
  sealed_private_key: Sealed,
  created_at_ms: z.number(),
  /** For each earlier key, oldest first, its signature over `handoverText`. */
  handovers: z.array(z.strictObject({ from: z.string(), to: z.string(), signature: z.string() }))
    .default([]),
});

export type VerdictKeyRecord = z.infer<typeof VerdictKeyRecord>;

export const verdictKeys = collection({
  name: "verdict_keys",
  schema: VerdictKeyRecord,
  cached: 20_000,
});
