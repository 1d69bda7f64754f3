import { DAY_MS } from "../store/durations.ts";
import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf, LimitOverrides, madeWith, Sealed, StoredCreatedWith } from "./fields.ts";

/** An API key, in the space of its type: live or test. */
export const ApiKeyRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  /** SHA-256 of the value, hex, by which a request finds the key. */
  hash: z.string(),
  /** The sealed value, which rotation must show again. */
  sealed: Sealed,
  /** The first characters of the value, for people. */
  masked: z.string(),
  type: z.enum(["live", "test"]),
  scopes: z.array(z.string()),
  metadata: z.record(z.string(), z.unknown()),
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  revoked_at_ms: z.number().nullable(),
  /** True once people were notified that it expires soon. */
  expiry_told: z.boolean(),
  /** When its value was last changed. */
  rotated_at_ms: z.number().nullable(),
  /** The credential that last changed its value. */
  rotated_with: StoredCreatedWith,
  /** The value before the last rotation, valid until `ends_at_ms`. */
  old: z.strictObject({ hash: z.string(), ends_at_ms: z.number(), also_of: AlsoOf }).nullable(),
  /** Who else may hold the newest value. */
  also_of: AlsoOf,
  /** Overrides of its type's limits, set by the host. */
  limits: LimitOverrides.nullable(),
});
export type ApiKeyRecord = z.infer<typeof ApiKeyRecord>;

/** When people are notified that a key expires: a week before, or a fifth of a short life before. */
const warnAtMs = ({ created_at_ms, expires_at_ms }: ApiKeyRecord): number =>
  expires_at_ms - Math.min(7 * DAY_MS, Math.floor((expires_at_ms - created_at_ms) / 5));

export const apiKeys = collection({
  name: "api_keys",
  schema: ApiKeyRecord,
  announced: "changes",
  lookup: {
    hash: (key) => [key.hash],
    old_hash: (key) => key.old && [key.old.hash],
    id: (key) => [key.id],
  },
  index: {
    creator: (key) => [key.created_by],
    made_with: (key) => madeWith(key.created_with),
    rotated_with: (key) => madeWith(key.rotated_with),
  },
  queue: {
    expiring: (key) => key.revoked_at_ms === null && !key.expiry_told ? [warnAtMs(key)] : null,
  },
  counted: true,
  cached: 20_000,
});
