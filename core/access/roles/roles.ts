import { roles } from "../../../kv/records/role.ts";
import { users } from "../../../kv/records/user.ts";
import { mustMatchRecord, type Work, type Writing } from "../../work/work.ts";
import { type Actor, BUILT_IN_ROLES } from "../../identity/identity.ts";
import { credentialInHand } from "../keys/made_with.ts";
import { mustCover } from "../keys/owned.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { openInvitations } from "../invitations/open.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import { stageReview } from "../standing/review.ts";
import { giverOf, homeOf } from "./grant.ts";
import { ALL, expand, isBuiltIn, OWNERS_ON_HOST } from "./rights.ts";
import { roleNamed, showBuiltIn, showRole } from "./show.ts";

/** Maximum number of custom roles in one organization. */
const ROLES_MAX = 100;
/** Maximum number of people in one organization. */
export const PEOPLE_MAX = 500;
/** Above the maximum, because concurrent joins may exceed it. */
const PEOPLE_READ_MAX = 2 * PEOPLE_MAX;
/** People that a refusal names. */
const NAMED_MAX = 20;

const BUILT_IN = Object.keys(BUILT_IN_ROLES);

/**
 * Creates a role.
 * @throws {Fault} VALIDATION_FAILED for a right that no role may give here, INSUFFICIENT_SCOPES beyond the caller's own rights, CONFLICT
 */
export async function createRole(
  work: Writing,
  { name, permissions }: { readonly name: string; readonly permissions: readonly string[] },
) {
  const { ports, actor, tx } = work;
  const home = homeOf(actor.tenant.org);
  mustBeGivable(actor, permissions);
  await mustCoverPermissions(work, permissions);
  if (isBuiltIn(name.toLowerCase()) || await tx.get(roles, home, name) !== null) {
    throw new Fault("CONFLICT", `There is already a role named ${name}. Choose another name.`);
  }
  if (await tx.count(roles, home) >= ROLES_MAX) {
    throw new Fault("CONFLICT", `There are already ${ROLES_MAX} roles. Delete one first.`);
  }
  const now = ports.clock.now();
  const role = tx.put(roles, home, {
    id: name,
    permissions: normalize(permissions),
    created_by: actor.id,
    created_with: await credentialInHand(work),
    created_at_ms: now,
    updated_at_ms: now,
  });
  return showRole(role, actor.host);
}

/** The built-in roles, then the custom ones by name. */
export async function listRoles({ db, actor }: Work, paging: Paging) {
  const own = await db.list(roles, homeOf(actor.tenant.org), { limit: ROLES_MAX });
  const all = [
    ...BUILT_IN.map((name) => showBuiltIn(name, actor.host)),
    ...own.items.map((role) => showRole(role, actor.host)),
  ];
  const { items, pagination } = pageOf(all, paging);
  return { roles: items, pagination };
}

/** @throws {Fault} NOT_FOUND */
export async function readRole({ db, actor }: Work, name: string) {
  const role = await roleNamed(db, actor.tenant.org, name);
  return role === "built_in" ? showBuiltIn(name, actor.host) : showRole(role, actor.host);
}

/**
 * Replaces the permissions of a role, at once for everybody who has it.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a built-in one, VALIDATION_FAILED for a right that no role may give here,
 * INSUFFICIENT_SCOPES when the old or the new permissions are beyond the caller's own rights
 */
export async function updateRole(
  work: Writing,
  name: string,
  { permissions, ...others }: { readonly permissions: readonly string[] },
) {
  const { ports, actor, tx } = work;
  const role = await customRole(work, name);
  mustMatchRecord(others, showRole(role, actor.host));
  mustBeGivable(actor, permissions);
  await mustCoverPermissions(work, [...role.permissions, ...permissions]);
  const next = tx.put(roles, homeOf(actor.tenant.org), {
    ...role,
    permissions: normalize(permissions),
    updated_at_ms: ports.clock.now(),
  });
  stageReview(work, tx, actor.tenant.org);
  emit(work, tx, actor.tenant, {
    type: "role_updated",
    resource: { type: "role", id: name },
    details: { permissions_before: role.permissions, permissions_after: next.permissions },
  });
  return showRole(next, actor.host);
}

/**
 * Deletes a role that nobody has. Giving a role writes its record, so a concurrent assignment prevents the
 * deletion.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a built-in one, INSUFFICIENT_SCOPES, CONFLICT with the people who
 * have it
 */
export async function deleteRole(work: Writing, name: string) {
  const { ports, actor, tx } = work;
  const home = homeOf(actor.tenant.org);
  const role = await customRole(work, name);
  await mustCoverPermissions(work, role.permissions);
  const people = (await tx.list(users, home, { limit: PEOPLE_READ_MAX })).items
    .filter((user) => user.roles.includes(name));
  const invited = (await openInvitations(tx, home, ports.clock.now()))
    .filter(({ roles }) => roles.includes(name));
  if (people.length + invited.length > 0) {
    throw new Fault(
      "CONFLICT",
      `${people.length} users and ${invited.length} open invitations have this role. Revoke it ` +
        "from them first.",
      {
        users: people.slice(0, NAMED_MAX).map(({ id }) => id),
        users_total: people.length,
        invitations: invited.slice(0, NAMED_MAX).map(({ id }) => id),
        invitations_total: invited.length,
      },
    );
  }
  tx.delete(roles, home, name);
  return { name, permissions: role.permissions };
}

async function customRole({ tx, actor }: Writing, name: string) {
  const role = await roleNamed(tx, actor.tenant.org, name);
  if (role !== "built_in") return role;
  throw new Fault(
    "FORBIDDEN",
    `${name} is a built-in role and cannot be changed. Create your own role.`,
  );
}

/** @throws {Fault} VALIDATION_FAILED */
function mustBeGivable({ host }: Actor, permissions: readonly string[]): void {
  if (!host || !permissions.includes(OWNERS_ON_HOST)) return;
  const message =
    `Only owners may have ${OWNERS_ON_HOST} in this organization, because it changes the ` +
    "installation.";
  const issues = [{ path: "body.permissions", message }];
  throw new Fault("VALIDATION_FAILED", message, { issues });
}

async function mustCoverPermissions(work: Writing, permissions: readonly string[]): Promise<void> {
  const { rights } = await giverOf(work);
  mustCover(rights, expand(permissions), "A role can only hold rights that you have.");
}

/** Each once; `all` includes every other. */
const normalize = (permissions: readonly string[]): string[] =>
  permissions.includes(ALL) ? [ALL] : [...new Set(permissions)];
