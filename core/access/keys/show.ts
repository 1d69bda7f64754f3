import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";

import type { Actor, Scope } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { DAY_MS } from "../../../kv/store/durations.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { UNLIMITED } from "../limits/limiter.ts";
import { limitsOf } from "../limits/kinds.ts";
import { tenantOfKey } from "./owned.ts";
import type { Usage } from "../usage/usage.ts";

/** After this age a key's record recommends a rotation. */
const ROTATION_DAYS = 90;

/** Every status of a key. `rotating` counts as active; the old value works too. */
export const KEY_STATUSES = ["active", "rotating", "expired", "revoked"] as const;
export type KeyStatus = typeof KEY_STATUSES[number];

/** The status of a key at an instant. */
export function statusOf(key: ApiKeyRecord, nowMs: number): KeyStatus {
  if (key.revoked_at_ms !== null) return "revoked";
  if (nowMs >= key.expires_at_ms) return "expired";
  return key.old !== null && nowMs < key.old.ends_at_ms ? "rotating" : "active";
}

/** True for a key that is neither expired nor revoked; its creator may still be inactive. */
export const isUsable = (key: ApiKeyRecord, nowMs: number): boolean =>
  !isOver(statusOf(key, nowMs));

const isOver = (status: KeyStatus): boolean => status === "expired" || status === "revoked";

/** A key as every answer shows it, with its last use. */
export async function showKeyWithUse(
  work: Pick<Context, "ports" | "config"> & { readonly actor: Actor },
  usage: Pick<Usage, "lastUsed">,
  key: ApiKeyRecord,
) {
  const lastUsedMs = await usage.lastUsed(tenantOfKey(work, key), key.id);
  return showApiKey(work, key, lastUsedMs);
}

/** A key as every answer shows it; `lastUsedMs` is null for a key that was never used. */
export function showApiKey(
  { ports, config }: Pick<Context, "ports" | "config">,
  key: ApiKeyRecord,
  lastUsedMs: number | null,
) {
  const nowMs = ports.clock.now();
  const status = statusOf(key, nowMs);
  const limits = limitsOf(config(), key);
  return {
    id: key.id,
    name: key.name,
    description: key.description,
    key: key.masked,
    type: key.type,
    scopes: key.scopes as Scope[],
    metadata: key.metadata,
    created_by: key.created_by,
    created_with: key.created_with,
    created_at: iso(key.created_at_ms),
    expires_at: iso(key.expires_at_ms),
    rotated_at: isoOrNull(key.rotated_at_ms),
    grace_period_ends: status === "rotating" ? iso(key.old!.ends_at_ms) : null,
    last_used: isoOrNull(lastUsedMs),
    status,
    notice: noticeOf(key, status, nowMs),
    rate_limits: {
      requests_per_minute: limits.requests_per_minute ?? UNLIMITED,
      mcp_calls_per_minute: limits.mcp_calls_per_minute ?? UNLIMITED,
      max_concurrent: limits.max_concurrent ?? UNLIMITED,
    },
  };
}

function noticeOf(key: ApiKeyRecord, status: KeyStatus, nowMs: number): string | null {
  if (isOver(status)) return null;
  const ageMs = nowMs - (key.rotated_at_ms ?? key.created_at_ms);
  if (ageMs <= ROTATION_DAYS * DAY_MS) return null;
  return `Its value is older than ${ROTATION_DAYS} days. Rotate it.`;
}
