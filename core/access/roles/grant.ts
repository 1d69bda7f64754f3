import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { CreatedWith } from "../../../kv/records/fields.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Actor, Writing } from "../../work/work.ts";
import { actsForPerson } from "../people/person.ts";
import { mustCover } from "../keys/owned.ts";
import { isUsable } from "../keys/show.ts";
import { Fault } from "../../fault/fault.ts";
import type { Scope } from "../../work/scopes.ts";
import { isBuiltIn, rightsOf } from "./rights.ts";

/** The role of those who own an organization: only an owner gives it or takes it. */
export const OWNER = "owner";
/** Owners who are looked at for one that stays. */
const OWNERS_READ_MAX = 200;

/** Where people and roles live, whichever space is worked in. */
export const homeOf = (org: string): Tenant => ({ org, space: "live" });

/** What it takes to find out who gives. */
type Giving = Pick<Writing, "app" | "tx" | "actor">;

/** Who may hand out rights at this moment. */
export interface Giver {
  readonly rights: ReadonlySet<Scope>;
  /** True for an owner who is signed in: a key is never an owner. */
  readonly owner: boolean;
}

/**
 * What the caller may hand out now, read again in the transaction: whoever is demoted by another request
 * at the same moment gives nothing any more.
 */
export async function giverOf({ app, tx, actor }: Giving): Promise<Giver> {
  const rights = await rightsToGive(tx, actor.tenant, sourceOf(actor), app.ports.clock.now());
  if (actor.kind === "api_key") return { rights, owner: false };
  const user = await tx.get(users, homeOf(actor.tenant.org), actor.userId);
  const owner = actsForPerson(actor) && (user?.roles.includes(OWNER) ?? false);
  return { rights: meet(rights, actor.rights), owner };
}

/** Who gives something that is taken later: a person, or a key of theirs. */
export interface Source {
  readonly userId: string;
  readonly keyId: string | null;
}

/** Who gave something, as its record says. */
export const sourceBy = (userId: string, credential: CreatedWith | null): Source => ({
  userId,
  keyId: credential?.kind === "api_key" ? credential.id : null,
});

const sourceOf = ({ kind, id, userId }: Actor): Source => ({
  userId,
  keyId: kind === "api_key" ? id : null,
});

/** What a person, or a key of theirs in this space, may do now: nothing once any of them has ended. */
export async function rightsToGive(
  db: Reader,
  tenant: Tenant,
  { userId, keyId }: Source,
  nowMs: number,
): Promise<ReadonlySet<Scope>> {
  const rights = await personRights(db, tenant.org, userId);
  if (keyId === null) return rights;
  const key = await db.get(apiKeys, tenant, keyId);
  const usable = key !== null && isUsable(key, nowMs);
  return meet(rights, new Set(usable ? key.scopes as Scope[] : []));
}

/** What a person of an organization may do now: nothing once either is inactive. */
export async function personRights(
  db: Reader,
  org: string,
  userId: string,
): Promise<ReadonlySet<Scope>> {
  const user = await db.get(users, homeOf(org), userId);
  const organization = await db.get(organizations, SYSTEM, org);
  if (!user?.active || !organization?.active) return new Set();
  // Built-in roles give the same for as long as both records are these, which they are in memory.
  const known = builtIn.get(user);
  if (known?.organization === organization) return known.rights;
  const rights = await rightsOf(db, organization, user.roles);
  if (user.roles.every(isBuiltIn)) builtIn.set(user, { organization, rights });
  return rights;
}

const builtIn = new WeakMap<UserRecord, {
  readonly organization: OrganizationRecord;
  readonly rights: ReadonlySet<Scope>;
}>();

const meet = (a: ReadonlySet<Scope>, b: ReadonlySet<Scope>): ReadonlySet<Scope> =>
  new Set([...a].filter((scope) => b.has(scope)));

/**
 * Nobody gives or takes more than they have, and only an owner ownership.
 * @throws {Fault} INSUFFICIENT_SCOPES, FORBIDDEN
 */
export async function mustBeAbleToGive(
  { tx, actor }: Giving,
  { rights, owner }: Giver,
  roles: readonly string[],
): Promise<void> {
  if (roles.includes(OWNER) && !owner) {
    throw new Fault("FORBIDDEN", "Only an owner who is signed in gives ownership or takes it.");
  }
  const organization = { id: actor.tenant.org, host: actor.host };
  const given = await rightsOf(tx, organization, roles);
  mustCover(rights, [...given], "You may give and take only rights that you have.");
}

/**
 * An organization is never without an active owner. The one that stays is read in the transaction, so of
 * two requests that each remove the other's owner one loses.
 * @throws {Fault} CONFLICT
 */
export async function mustKeepAnOwner({ tx, actor }: Writing, without: UserRecord): Promise<void> {
  if (!without.active || !without.roles.includes(OWNER)) return;
  const home = homeOf(actor.tenant.org);
  const { items } = await tx.list(users, home, {
    index: "owner",
    prefix: [OWNER],
    limit: OWNERS_READ_MAX,
  });
  for (const { id } of items) {
    if (id === without.id) continue;
    const other = await tx.get(users, home, id);
    if (other?.active && other.roles.includes(OWNER)) return;
  }
  throw new Fault(
    "CONFLICT",
    "This is the organization's last owner. Make somebody else an owner first.",
  );
}
