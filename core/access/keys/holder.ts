import { rowKeyText, SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type PlanRecord, plans } from "../../../kv/records/plan.ts";
import { type RoleRecord, roles } from "../../../kv/records/role.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Actor, App } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { hashKeyValue, parseKeyValue } from "./value.ts";
import { homeOf } from "../roles/grant.ts";
import { combine, customOf } from "../roles/rights.ts";
import type { Scope } from "../../work/scopes.ts";
import { statusOf } from "./show.ts";

/** What a key's actor was made of. */
interface Known {
  /** Where the store's memory has the records. */
  readonly slots: Readonly<Record<"key" | "user" | "organization" | "plan", string>>;
  readonly key: ApiKeyRecord;
  readonly user: UserRecord;
  readonly organization: OrganizationRecord;
  /** The creator's roles that the organization made, and where the store's memory has them. */
  readonly custom: readonly { readonly slot: string; readonly role: RoleRecord }[];
  readonly plan: PlanRecord | null;
  readonly actor: Actor;
  /** When the value stops working. */
  readonly endsAtMs: number;
}

/**
 * The actors of key values that were used lately, by app. One is good while the very records that it was
 * made of are the ones in the store's memory: any change of one replaces it there.
 */
const knownKeys = new WeakMap<App, RecentMap<Known>>();
const KNOWN_MAX = 20_000;

/**
 * Finds out who holds a key's value, with the rights of now, and notes its use.
 * @throws {Fault} INVALID_API_KEY
 */
export async function authenticateKey(app: App, value: string): Promise<Actor> {
  let known = knownKeys.get(app);
  if (known === undefined) knownKeys.set(app, known = new RecentMap(KNOWN_MAX));
  const fresh = current(app, known.get(value));
  const found = fresh ?? await lookUp(app, value);
  if (fresh === null) known.set(value, found);
  return found.actor;
}

/** The holder of a value that was used lately, at once; null when it must be looked up. */
export function knownHolder(app: App, value: string): Actor | null {
  return current(app, knownKeys.get(app)?.get(value))?.actor ?? null;
}

/** What is known of a value, if nothing of it has changed. */
function current(app: App, known: Known | undefined): Known | null {
  if (known === undefined) return null;
  const { slots, key, user, organization, plan, custom } = known;
  const good = app.store.peek(apiKeys, slots.key) === key &&
    app.store.peek(users, slots.user) === user &&
    app.store.peek(organizations, slots.organization) === organization &&
    (app.store.peek(plans, slots.plan) ?? null) === plan &&
    custom.every(({ slot, role }) => app.store.peek(roles, slot) === role) &&
    app.ports.clock.now() < known.endsAtMs;
  return good ? known : null;
}

/** The order of the interface: format, status, expiry; scopes are the route's to check. */
async function lookUp(app: App, value: string): Promise<Known> {
  if (parseKeyValue(value) === null) throw keyFault("malformed", "It has a typo or was cut.");
  const hash = hashKeyValue(value);
  // The newest value first: a rotation between the two reads moves a hash from there to the old ones.
  const found = await app.store.lookup(apiKeys, "hash", [hash]) ??
    await app.store.lookup(apiKeys, "old_hash", [hash]);
  if (found === null) throw keyFault("unknown", "It does not exist, or was deleted.");
  return await know(app, found.tenant, found.record, hash);
}

/**
 * Who holds the value of this hash, of the key of this id, with the rights of now; null when it is not
 * accepted any more.
 */
export async function keyHolder(
  app: App,
  tenant: Tenant,
  id: string,
  valueHash: string,
): Promise<Actor | null> {
  const key = await app.store.get(apiKeys, tenant, id);
  if (key === null) return null;
  try {
    return (await know(app, tenant, key, valueHash)).actor;
  } catch (error) {
    if (error instanceof Fault) return null;
    throw error;
  }
}

/** @throws {Fault} INVALID_API_KEY */
async function know(
  app: App,
  tenant: Tenant,
  key: ApiKeyRecord,
  valueHash: string,
): Promise<Known> {
  const nowMs = app.ports.clock.now();
  const endsAtMs = endOf(key, valueHash);
  const status = statusOf(key, nowMs);
  if (status === "revoked") throw keyFault(status, "It was revoked. Create another.");
  if (status === "expired") throw keyFault(status, "It has expired. Create another.");
  if (nowMs >= endsAtMs) throw keyFault("expired", "It was rotated. Use the new value.");
  const home = homeOf(tenant.org);
  const user = await app.store.get(users, home, key.created_by);
  const organization = await app.store.get(organizations, SYSTEM, tenant.org);
  if (!user?.active || !organization?.active) {
    throw keyFault("inactive", "Its creator or its organization is not active.");
  }
  const plan = await app.store.get(plans, SYSTEM, organization.plan);
  const made = await customOf(app.store, tenant.org, user.roles);
  const rights = effectiveRights(key, combine(user.roles, made, organization.host));
  const actor = { ...actorOf(key, valueHash, tenant, organization, plan), rights };
  const custom = made.map((role) => ({ slot: rowKeyText(roles, home, role.id), role }));
  const slots = {
    key: rowKeyText(apiKeys, tenant, key.id),
    user: rowKeyText(users, home, user.id),
    organization: rowKeyText(organizations, SYSTEM, tenant.org),
    plan: rowKeyText(plans, SYSTEM, organization.plan),
  };
  return { slots, key, user, organization, plan, custom, actor, endsAtMs };
}

/** When a value of a key stops working, in ms; 0 for one that the record has forgotten. */
function endOf({ hash, old, expires_at_ms }: ApiKeyRecord, valueHash: string): number {
  if (valueHash === hash) return expires_at_ms;
  return valueHash === old?.hash ? old.ends_at_ms : 0;
}

function actorOf(
  key: ApiKeyRecord,
  valueHash: string,
  tenant: Tenant,
  organization: OrganizationRecord,
  plan: PlanRecord | null,
): Omit<Actor, "rights"> {
  const isOld = valueHash !== key.hash;
  return {
    kind: "api_key",
    id: key.id,
    tenant,
    userId: key.created_by,
    plan: organization.plan,
    host: organization.host,
    sessionId: null,
    expiresAtMs: endOf(key, valueHash),
    planPerMinute: plan?.requests_per_minute,
    planLimits: organization.limits,
    key: {
      type: key.type,
      limits: key.limits,
      valueHash,
      oldSinceMs: isOld ? key.rotated_at_ms : null,
      oldUntilMs: isOld ? endOf(key, valueHash) : null,
    },
  };
}

/** A key can do what its scopes say and its creator may do now. */
const effectiveRights = (key: ApiKeyRecord, creator: ReadonlySet<Scope>): ReadonlySet<Scope> =>
  new Set((key.scopes as Scope[]).filter((scope) => creator.has(scope)));

const keyFault = (reason: string, why: string) =>
  new Fault("INVALID_API_KEY", `The API key is not accepted. ${why}`, { reason });
