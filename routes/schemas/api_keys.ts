import { z } from "zod";
import { KEY_CHECKS, KEY_STATUSES, MADE_TYPES } from "../../core/access/access.ts";
import { boundedObject, CreatedWith, JsonObject, ScopeName, Space, Timestamp } from "./schemas.ts";

const METADATA_BYTES_MAX = 16 * 1024;
const GRACE_HOURS_MAX = 168;

/** The status of a key. */
export const KeyStatus = z.enum(KEY_STATUSES).meta({ id: "ApiKeyStatus" });

/** Free metadata of a key. */
export const Metadata = boundedObject(METADATA_BYTES_MAX);

/** The scopes of a key. */
export const Scopes = z.array(ScopeName).min(1).max(16)
  .refine((scopes) => new Set(scopes).size === scopes.length, "names a scope more than once")
  .meta({ uniqueItems: true });

/** The time for which the old value works after a rotation. */
export const GraceHours = z.int().min(0).max(GRACE_HOURS_MAX).default(24)
  .meta({ description: "Hours during which the old value also works." });

/** A key in responses. */
export const ApiKey = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  key: z.string().meta({
    description: "The first characters; the whole value is shown only once.",
  }),
  type: Space,
  scopes: z.array(ScopeName),
  metadata: JsonObject,
  created_by: z.string(),
  created_with: CreatedWith,
  created_at: Timestamp,
  expires_at: Timestamp,
  rotated_at: Timestamp.nullable().meta({ description: "When it got its current value." }),
  grace_period_ends: Timestamp.nullable().meta({
    description: "When the old value stops working, while the key is rotating.",
  }),
  last_used: Timestamp.nullable(),
  status: KeyStatus,
  notice: z.string().nullable().meta({
    description: "Why it should be rotated; null when there is no reason.",
  }),
  rate_limits: z.object({
    requests_per_minute: z.int(),
    mcp_calls_per_minute: z.int(),
    max_concurrent: z.int(),
  }).meta({ id: "ApiKeyRateLimits" }),
}).meta({ id: "ApiKey" });

const Made = z.object({
  type: z.enum(MADE_TYPES),
  id: z.string(),
  space: Space,
  reason: z.string().optional().meta({ description: "Why it could not be ended." }),
}).meta({ id: "MadeWithApiKey" });

/** The response of a revocation. */
export const Revocation = ApiKey.extend({
  ended: z.array(Made).meta({ description: "What was made with the key and has been ended." }),
  ended_total: z.int(),
  would_end: z.array(Made).meta({
    description: "What was made with the key and still works.",
  }),
  would_end_total: z.int(),
}).meta({ id: "ApiKeyRevocation" });

/** The response of a rotation. */
export const Rotation = z.object({
  id: z.string(),
  status: z.enum(["rotating", "active"]).meta({ description: "`active` without a grace period." }),
  old_key: z.string().meta({ description: "The whole old value." }),
  new_key: z.string().meta({ description: "The whole new value; no other response shows it." }),
  grace_period_ends: Timestamp,
  message: z.string(),
}).meta({ id: "ApiKeyRotation" });

/** A limit and a lower bound of what is left. */
const LimitLeft = z.object({
  limit: z.int(),
  remaining: z.int(),
  reset_at: Timestamp.nullable(),
}).meta({ id: "LimitLeft" });

/** Whether a key has a scope, with the result of each check. */
export const Explanation = z.object({
  key_id: z.string(),
  scope: ScopeName,
  allowed: z.boolean(),
  reasons: z.array(z.object({
    check: z.enum(KEY_CHECKS),
    ok: z.boolean(),
    message: z.string(),
  })),
  key: z.object({
    status: KeyStatus,
    scopes: z.array(ScopeName),
    type: Space,
    space: Space,
    expires_at: Timestamp,
  }),
  creator: z.object({
    id: z.string(),
    active: z.boolean(),
    roles: z.array(z.string()),
    has_scope: z.boolean(),
  }),
  organization: z.object({ id: z.string(), active: z.boolean(), plan: z.string() }),
  limits: z.object({
    key: z.object({
      requests_per_minute: LimitLeft,
      mcp_calls_per_minute: LimitLeft,
      max_concurrent: LimitLeft,
      burst_per_10_seconds: LimitLeft,
      webhook_deliveries_per_minute: LimitLeft,
    }),
    organization: z.object({ requests_per_minute: LimitLeft }),
  }),
}).meta({ id: "ApiKeyExplanation" });
