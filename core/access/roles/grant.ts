import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { CreatedWith } from "../../../kv/records/fields.ts";
import { type OrganizationRecord, organizations } from "../../../kv/records/organization.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Writing } from "../../work/work.ts";
import type { Actor, Scope } from "../../identity/identity.ts";
import { actsForPerson } from "../people/person.ts";
import { mustCover } from "../keys/owned.ts";
import { isUsable } from "../keys/show.ts";
import { Fault } from "../../fault/fault.ts";
import { isBuiltIn, rightsOf } from "./rights.ts";

/** The role of the owners of an organization. Only an owner may give or revoke it. */
export const OWNER = "owner";
/** How many owners are read to find one who remains. */
const OWNERS_READ_MAX = 200;

/** The tenant of an organization's people and roles, in whichever space the caller works. */
export const homeOf = (org: string): Tenant => ({ org, space: "live" });

type Giving = Pick<Writing, "ports" | "tx" | "actor">;

/** A caller who hands out rights. */
export interface Giver {
  readonly rights: ReadonlySet<Scope>;
  /** True for a signed-in owner. A key is never an owner. */
  readonly owner: boolean;
}

/**
 * The rights that the caller may hand out, read in the transaction: a caller who is demoted by a concurrent
 * request gives nothing.
 */
export async function giverOf({ ports, tx, actor }: Giving): Promise<Giver> {
  const rights = await rightsToGive(tx, actor.tenant, sourceOf(actor), ports.clock.now());
  if (actor.kind === "api_key") return { rights, owner: false };
  const user = await tx.get(users, homeOf(actor.tenant.org), actor.userId);
  const owner = actsForPerson(actor) && (user?.roles.includes(OWNER) ?? false);
  return { rights: meet(rights, actor.rights), owner };
}

/** The giver of something that is accepted later: a person, or a key of theirs. */
export interface Source {
  readonly userId: string;
  readonly keyId: string | null;
}

/** The giver that a record names. */
export const sourceBy = (userId: string, credential: CreatedWith | null): Source => ({
  userId,
  keyId: credential?.kind === "api_key" ? credential.id : null,
});

const sourceOf = ({ kind, id, userId }: Actor): Source => ({
  userId,
  keyId: kind === "api_key" ? id : null,
});

/** The rights of a person, or of their key in this space, now; none once either has ended. */
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

/** The rights of a person now; none once the person or the organization is inactive. */
export async function personRights(
  db: Reader,
  org: string,
  userId: string,
): Promise<ReadonlySet<Scope>> {
  const user = await db.get(users, homeOf(org), userId);
  const organization = await db.get(organizations, SYSTEM, org);
  if (!user?.active || !organization?.active) return new Set();
  // The rights of built-in roles stay the same while the cache returns the same two records.
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
 * Refuses to give or revoke more than the caller has; only an owner gives or revokes ownership.
 * @throws {Fault} INSUFFICIENT_SCOPES, FORBIDDEN
 */
export async function mustBeAbleToGive(
  { tx, actor }: Pick<Giving, "tx" | "actor">,
  { rights, owner }: Giver,
  roles: readonly string[],
): Promise<void> {
  if (roles.includes(OWNER) && !owner) {
    throw new Fault("FORBIDDEN", "Only a signed-in owner may assign or revoke ownership.");
  }
  const organization = { id: actor.tenant.org, host: actor.host };
  const given = await rightsOf(tx, organization, roles);
  mustCover(rights, [...given], "You can only assign and revoke rights that you have.");
}

/** Whether the giver of something that is accepted now may still manage people, and give these roles. */
export async function mayStillGive(
  db: Reader,
  tenant: Tenant,
  source: Source,
  roles: readonly string[],
  nowMs: number,
): Promise<boolean> {
  const organization = await db.get(organizations, SYSTEM, tenant.org);
  const giver = await db.get(users, tenant, source.userId);
  if (organization === null || roles.includes(OWNER) && !giver?.roles.includes(OWNER)) return false;
  const rights = await rightsToGive(db, tenant, source, nowMs);
  return rights.has("system:write") &&
    (await rightsOf(db, organization, roles)).isSubsetOf(rights);
}

/**
 * Refuses to remove the last active owner. The remaining owner is read in the transaction, so that of two
 * concurrent removals one fails.
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
    "This is the organization's last owner. Make another user an owner first.",
  );
}
