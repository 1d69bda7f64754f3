import { z } from "zod";
import type { KeyParts } from "../store/collection.ts";

/** A text that only RELAY_SECRET opens. core/host/secrets/sealed.ts lists every field of this schema. */
export const Sealed = z.string();

/** The ids of people beside the owner who may hold a credential; `*` is everybody. Absent in old records. */
export const AlsoOf = z.array(z.string()).default([]);

/** The credential that something was made with. An issuer's token counts as made with that issuer. */
export const CreatedWith = z.strictObject({
  kind: z.enum(["api_key", "session", "issuer", "mcp_grant"]),
  id: z.string(),
});
export type CreatedWith = z.infer<typeof CreatedWith>;

/** The same in a record; null when unknown. Earlier versions stored the id of an API key alone. */
export const StoredCreatedWith = z.preprocess(
  (stored) => typeof stored === "string" ? { kind: "api_key", id: stored } : stored,
  CreatedWith.nullable(),
).default(null);

/** The index key that finds everything made with a credential. */
export const madeWith = (credential: CreatedWith | null): KeyParts | null =>
  credential && [credential.kind, credential.id];

const Limit = z.int().min(1).max(2_147_483_646).nullable();

/** Limits that override configured ones; `null` is unlimited, an absent one is not overridden. */
export const LimitOverrides = z.strictObject({
  requests_per_minute: Limit.optional(),
  mcp_calls_per_minute: Limit.optional(),
  max_concurrent: Limit.optional(),
  burst_per_10_seconds: Limit.optional(),
  webhook_deliveries_per_minute: Limit.optional(),
});
export type LimitOverrides = z.infer<typeof LimitOverrides>;
