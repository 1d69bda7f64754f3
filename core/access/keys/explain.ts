import { SYSTEM } from "../../../kv/store/collection.ts";
import type { ApiKeyRecord } from "../../../kv/records/api_key.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Work } from "../../work/work.ts";
import type { Scope } from "../../identity/identity.ts";
import type { Config } from "../../context/context.ts";
import { type Left, type Limiter, UNLIMITED } from "../limits/limiter.ts";
import { KEY_LIMIT_NAMES, type KeyLimit, keyLimit, planLimit } from "../limits/kinds.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { homeOf } from "../roles/grant.ts";
import { rightsOf } from "../roles/rights.ts";
import { ownedKey } from "./owned.ts";
import { isUsable, statusOf } from "./show.ts";

/** The checks, in this order; a key may use a scope when all of them pass. */
export const KEY_CHECKS = [
  "key_status",
  "key_scope",
  "creator_active",
  "creator_scope",
  "organization_active",
] as const;

interface Reason {
  readonly check: typeof KEY_CHECKS[number];
  readonly ok: boolean;
  readonly message: string;
}

/**
 * Explains why a key may or may not use a scope now.
 * @throws {Fault} NOT_FOUND
 */
export async function explainApiKey(work: Work, limiter: Limiter, id: string, scope: Scope) {
  const { ports, actor, db } = work;
  const config = work.config();
  const key = await ownedKey(work, id, "system:read");
  const user = await db.get(users, homeOf(actor.tenant.org), key.created_by);
  const organization = await db.get(organizations, SYSTEM, actor.tenant.org);
  const roles = user?.roles ?? [];
  const own = { id: actor.tenant.org, host: actor.host };
  const has_scope = (await rightsOf(db, own, roles)).has(scope);
  const nowMs = ports.clock.now();
  const reasons = [
    statusReason(key, nowMs),
    scopeReason(key, scope),
    ...creatorReasons(user, scope, has_scope),
    organizationReason(organization),
  ];
  return {
    key_id: key.id,
    scope,
    allowed: reasons.every(({ ok }) => ok),
    reasons,
    key: {
      status: statusOf(key, nowMs),
      scopes: key.scopes as Scope[],
      type: key.type,
      space: key.type,
      expires_at: iso(key.expires_at_ms),
    },
    creator: { id: key.created_by, active: user?.active ?? false, roles, has_scope },
    organization: {
      id: actor.tenant.org,
      active: organization?.active ?? false,
      plan: actor.plan,
    },
    limits: {
      key: await keyLimits(config, limiter, key),
      organization: await planLimits(config, limiter, organization, actor.planPerMinute),
    },
  };
}

function statusReason(key: ApiKeyRecord, nowMs: number): Reason {
  const status = statusOf(key, nowMs);
  const messages = {
    active: `The key is active until ${iso(key.expires_at_ms)}.`,
    rotating: "The key is rotating: both values work, but only the new one can manage keys.",
    expired: `The key expired at ${iso(key.expires_at_ms)}. Create a new one.`,
    revoked: "The key was revoked. Create a new one.",
  };
  return { check: "key_status", ok: isUsable(key, nowMs), message: messages[status] };
}

function scopeReason({ scopes }: ApiKeyRecord, scope: Scope): Reason {
  const ok = scopes.includes(scope);
  const message = ok
    ? `The key has the scope ${scope}.`
    : `The key does not have the scope ${scope}. Add it, if its creator has that right.`;
  return { check: "key_scope", ok, message };
}

function creatorReasons(user: UserRecord | null, scope: Scope, has: boolean): Reason[] {
  const active = user?.active ?? false;
  const roles = user === null || user.roles.length === 0 ? "no role" : user.roles.join(", ");
  return [{
    check: "creator_active",
    ok: active,
    message: active
      ? "The key's creator is active."
      : "The key's creator is not active, so their keys do not work.",
  }, {
    check: "creator_scope",
    ok: has,
    message: has
      ? `The creator now has ${scope}, through ${roles}.`
      : `The creator does not have ${scope} now, with ${roles}. A key never has more rights than ` +
        "its creator.",
  }];
}

function organizationReason(organization: OrganizationRecord | null): Reason {
  const ok = organization?.active ?? false;
  const message = ok ? "The organization is active." : "The organization is not active.";
  return { check: "organization_active", ok, message };
}

/** A key's own limits, and how much of each is left now. */
async function keyLimits(
  config: Config,
  limiter: Limiter,
  key: ApiKeyRecord,
): Promise<Record<KeyLimit, LimitLeft>> {
  const shown = await Promise.all(KEY_LIMIT_NAMES.map(async (name) => {
    const { limit } = keyLimit(config, name, key);
    return [name, limitLeft(limit, await limiter.leftOfKey(name, key))] as const;
  }));
  return Object.fromEntries(shown) as Record<KeyLimit, LimitLeft>;
}

async function planLimits(
  config: Config,
  limiter: Limiter,
  organization: OrganizationRecord | null,
  ofPlan: number | null | undefined,
) {
  if (organization === null) return { requests_per_minute: limitLeft(null, NOTHING_TAKEN) };
  const { limit } = planLimit(config, organization, ofPlan);
  const left = await limiter.leftOfPlan({ ...organization, ofPlan });
  return { requests_per_minute: limitLeft(limit, left) };
}

interface LimitLeft {
  readonly limit: number;
  readonly remaining: number;
  /** When its window ends; null without a window or without a limit. */
  readonly reset_at: string | null;
}

const NOTHING_TAKEN: Left = { remaining: null, resetMs: null };

const limitLeft = (limit: number | null, { remaining, resetMs }: Left): LimitLeft => ({
  limit: limit ?? UNLIMITED,
  remaining: remaining ?? UNLIMITED,
  reset_at: isoOrNull(resetMs),
});
