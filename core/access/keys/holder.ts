import { rowKeyText, SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { type ApiKeyRecord, apiKeys } from "../../../kv/records/api_key.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type PlanRecord, plans } from "../../../kv/records/plan.ts";
import { type RoleRecord, roles } from "../../../kv/records/role.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import { hashKeyValue, parseKeyValue } from "./value.ts";
import { homeOf } from "../roles/grant.ts";
import { combine, customOf } from "../roles/rights.ts";
import { statusOf } from "./show.ts";

/** A key value's actor and the records from which it was computed. */
interface Known {
  /** The records' slots in the store's cache. */
  readonly slots: Readonly<Record<"key" | "user" | "organization" | "plan", string>>;
  readonly key: ApiKeyRecord;
  readonly user: UserRecord;
  readonly organization: OrganizationRecord;
  /** The creator's custom roles, and their slots in the store's cache. */
  readonly custom: readonly { readonly slot: string; readonly role: RoleRecord }[];
  readonly plan: PlanRecord | null;
  readonly actor: Actor;
  /** When the value stops working. */
  readonly endsAtMs: number;
}

const KNOWN_MAX = 20_000;

/**
 * The holders of API keys. Actors of key values that were used lately are remembered. An actor is valid while
 * its records are still the ones in the store's cache: any change replaces them there.
 */
export class KeyHolders {
  readonly #known = new RecentMap<Known>(KNOWN_MAX);

  constructor(private readonly parts: Pick<Context, "store" | "ports">) {}

  /** The holder of a key's value, with current rights. @throws {Fault} INVALID_API_KEY */
  async authenticate(value: string): Promise<Actor> {
    const fresh = this.#fresh(value);
    if (fresh !== null) return fresh.actor;
    const found = await this.#lookUp(value);
    this.#known.set(value, found);
    return found.actor;
  }

  /** The holder of a value that was used lately, without waiting; null when it must be looked up. */
  known(value: string): Actor | null {
    return this.#fresh(value)?.actor ?? null;
  }

  /** Forgets the values that were not used since the last call; many of them never will be again. */
  forgetUnused(): void {
    this.#known.age();
  }

  /** The holder of the value with this hash now; null when it is no longer accepted. */
  async current(tenant: Tenant, id: string, valueHash: string): Promise<Actor | null> {
    try {
      return await this.parts.store.ahead.run(`key now ${valueHash}`, async (db) => {
        const key = await db.get(apiKeys, tenant, id);
        return key && (await this.#know(db, tenant, key, valueHash)).actor;
      });
    } catch (error) {
      if (error instanceof Fault) return null;
      throw error;
    }
  }

  /** The remembered entry of a value; null when one of its records has changed or the value has expired. */
  #fresh(value: string): Known | null {
    const known = this.#known.get(value);
    if (known === undefined) return null;
    const { store, ports } = this.parts;
    const { slots, key, user, organization, plan, custom } = known;
    const good = store.peek(apiKeys, slots.key) === key &&
      store.peek(users, slots.user) === user &&
      store.peek(organizations, slots.organization) === organization &&
      (store.peek(plans, slots.plan) ?? null) === plan &&
      custom.every(({ slot, role }) => store.peek(roles, slot) === role) &&
      ports.clock.now() < known.endsAtMs;
    return good ? known : null;
  }

  /** Checks in the documented order: format, status, expiry. The route checks the scopes. */
  async #lookUp(value: string): Promise<Known> {
    if (parseKeyValue(value) === null) throw keyFault("malformed", "It is mistyped or incomplete.");
    const hash = hashKeyValue(value);
    return await this.parts.store.ahead.run(`key ${hash}`, async (db) => {
      // The newest value first: a rotation between the two reads moves a hash from there to the old ones.
      const found = await db.lookup(apiKeys, "hash", [hash]) ??
        await db.lookup(apiKeys, "old_hash", [hash]);
      if (found === null) throw keyFault("unknown", "It does not exist, or was deleted.");
      return await this.#know(db, found.tenant, found.record, hash);
    });
  }

  /** @throws {Fault} INVALID_API_KEY */
  async #know(
    db: Reader,
    tenant: Tenant,
    key: ApiKeyRecord,
    valueHash: string,
  ): Promise<Known> {
    const nowMs = this.parts.ports.clock.now();
    const endsAtMs = endOf(key, valueHash);
    const status = statusOf(key, nowMs);
    if (status === "revoked") throw keyFault(status, "It was revoked. Create a new one.");
    if (status === "expired") throw keyFault(status, "It has expired. Create a new one.");
    if (nowMs >= endsAtMs) throw keyFault("expired", "It was rotated. Use the new value.");
    const home = homeOf(tenant.org);
    const user = await db.get(users, home, key.created_by);
    const organization = await db.get(organizations, SYSTEM, tenant.org);
    if (!user?.active || !organization?.active) {
      throw keyFault("inactive", "Its creator or its organization is not active.");
    }
    const plan = await db.get(plans, SYSTEM, organization.plan);
    const made = await customOf(db, tenant.org, user.roles);
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
}

/** When a value of a key stops working, in ms; 0 for a value that the record no longer has. */
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

/** A key's rights: its scopes, limited to the rights of its creator now. */
const effectiveRights = (key: ApiKeyRecord, creator: ReadonlySet<Scope>): ReadonlySet<Scope> =>
  new Set((key.scopes as Scope[]).filter((scope) => creator.has(scope)));

const keyFault = (reason: string, why: string) =>
  new Fault("INVALID_API_KEY", `The API key is not accepted. ${why}`, { reason });
