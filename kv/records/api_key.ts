import { z } from "zod";
import { collection } from "../collection.ts";
import { LimitOverrides } from "./limits.ts";
import { Sealed } from "./sealed.ts";

/** An API key. Lives in the space of its type: live or test. */
export const ApiKeyRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  /** SHA-256 of the value, hex: what a request is looked up by. */
  hash: z.string(),
  /** The value, sealed, because rotation must show it again. */
  sealed: Sealed,
  /** The first characters of the value, for people. */
  masked: z.string(),
  type: z.enum(["live", "test"]),
  scopes: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  created_by: z.string(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  revoked_at_ms: z.number().nullable(),
  /** When its value was last changed. */
  rotated_at_ms: z.number().nullable(),
  /** The value before the last rotation, good until that instant. */
  old: z.strictObject({ hash: z.string(), ends_at_ms: z.number() }).nullable(),
  /** What the host set for this key instead of the limits of its type. */
  limits: LimitOverrides.nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

export const apiKeys = collection({
  name: "api_keys",
  schema: ApiKeyRecord,
  lookup: {
    hash: (key) => [key.hash],
    old_hash: (key) => key.old && [key.old.hash],
    id: (key) => [key.id],
  },
  index: { creator: (key) => [key.created_by] },
  counted: true,
  cached: 20_000,
});
