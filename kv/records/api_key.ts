import { z } from "zod";
import { collection } from "../collection.ts";

/** An API key. Lives in the space of its type: live or test. */
export const ApiKeyRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  /** SHA-256 of the value, hex: what a request is looked up by. */
  hash: z.string(),
  /** The value, sealed, because rotation must show it again. */
  sealed: z.string(),
  /** The first characters of the value, for people. */
  masked: z.string(),
  type: z.enum(["live", "test"]),
  scopes: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  created_by: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  revoked_at_ms: z.number().nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const apiKeys = collection({
  name: "api_keys",
  schema: ApiKeyRecord,
  lookup: { hash: (key) => [key.hash] },
  index: { creator: (key) => [key.created_by] },
  counted: true,
  cached: 20_000,
});

/** When a key was last used; written at most once a second, apart from the key itself. */
export const ApiKeyUseRecord = z.strictObject({ id: z.string(), last_used_ms: z.number() });

export const apiKeyUses = collection({ name: "api_key_uses", schema: ApiKeyUseRecord });
