import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import type { LimitOverrides } from "../../../kv/records/fields.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { plans } from "../../../kv/records/plan.ts";
import { mustHoldNewValue } from "../keys/owned.ts";
import type { Work, Writing } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { type Left, type Limiter, UNLIMITED } from "./limiter.ts";
import {
  type Figure,
  KEY_LIMIT_NAMES,
  KEY_LIMITS,
  type KeyLimit,
  keyLimit,
  type LimitKind,
  OTHER_LIMITS,
  planLimit,
} from "./kinds.ts";
import { isoOrNull } from "../../codec/codec.ts";

/** The organization, or the key and its organization, that limits are for. */
interface Subject {
  readonly organization: OrganizationRecord;
  readonly key: { readonly tenant: Tenant; readonly record: ApiKeyRecord } | null;
}

/**
 * The limits in force of a key or of an organization, where each figure comes from, and what is left now. The
 * host sees everybody's, other organizations their own.
 * @throws {Fault} NOT_FOUND
 */
export async function showLimits(work: Work, limiter: Limiter, id: string) {
  return await show(work, limiter, await subjectOf(work, id));
}

/**
 * Replaces the overrides of a key or an organization. The configuration applies again to those left out.
 * @throws {Fault} FORBIDDEN, NOT_FOUND, VALIDATION_FAILED
 */
export async function changeLimits(
  work: Writing,
  limiter: Limiter,
  id: string,
  asked: LimitOverrides,
) {
  const { actor, tx } = work;
  mustHoldNewValue(actor);
  const { organization, key } = await subjectOf(work, id);
  const limits = Object.keys(asked).length === 0 ? null : asked;
  if (key !== null) {
    const record = tx.put(apiKeys, key.tenant, { ...key.record, limits });
    return await show(work, limiter, { organization, key: { ...key, record } });
  }
  const { requests_per_minute, ...others } = asked;
  const [misplaced] = Object.keys(others);
  if (misplaced !== undefined) {
    throw new Fault(
      "VALIDATION_FAILED",
      `${misplaced} applies to API keys only, not to organizations.`,
      {
        issues: [{ path: `body.${misplaced}`, message: "applies to API keys only" }],
      },
    );
  }
  const plan = requests_per_minute === undefined ? null : { requests_per_minute };
  const changed = tx.put(organizations, SYSTEM, { ...organization, limits: plan });
  return await show(work, limiter, { organization: changed, key: null });
}

/** Limits that the caller may not see give the same answer as missing ones. */
async function subjectOf({ db, actor }: Work, id: string): Promise<Subject> {
  const key = await db.lookup(apiKeys, "id", [id]);
  const organization = await db.get(organizations, SYSTEM, key?.tenant.org ?? id);
  if (organization !== null && (actor.host || organization.id === actor.tenant.org)) {
    return { organization, key };
  }
  throw new Fault("NOT_FOUND", "There is no such API key or organization.");
}

async function show({ config, db }: Work, limiter: Limiter, { organization, key }: Subject) {
  const ofPlan = (await db.get(plans, SYSTEM, organization.plan))?.requests_per_minute;
  const names = key === null ? [] : KEY_LIMIT_NAMES;
  const own = names.map(async (name) => {
    const { record } = key!;
    const left = await limiter.leftOfKey(name, record);
    return row(name, KEY_LIMITS[name], keyLimit(config(), name, record), left);
  });
  const shared = row(
    "requests_per_minute",
    OTHER_LIMITS.organization,
    planLimit(config(), organization, ofPlan),
    await limiter.leftOfPlan({ ...organization, ofPlan }),
  );
  return {
    id: key?.record.id ?? organization.id,
    type: key === null ? "organization" as const : "api_key" as const,
    organization_id: organization.id,
    plan: organization.plan,
    overrides: (key === null ? organization.limits : key.record.limits) ?? {},
    limits: [...await Promise.all(own), shared],
  };
}

const row = (
  name: KeyLimit,
  { scope, windowMs }: LimitKind & { scope: string },
  { limit, source }: Figure,
  { remaining, resetMs }: Left,
) => ({
  name,
  scope,
  limit: limit ?? UNLIMITED,
  source,
  window_seconds: windowMs === null ? null : windowMs / 1000,
  remaining: remaining ?? UNLIMITED,
  resets_at: isoOrNull(resetMs),
});
