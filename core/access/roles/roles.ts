import { roles } from "../../../kv/records/role.ts";
import { users } from "../../../kv/records/user.ts";
import type { Actor, Work, Writing } from "../../work/work.ts";
import { credentialInHand } from "../keys/made_with.ts";
import { mustCover } from "../keys/owned.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { openInvitations } from "../invitations/open.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import { mustMatchRecord } from "../../work/read_only.ts";
import { BUILT_IN_ROLES } from "../../work/scopes.ts";
import { stageReview } from "../standing/review.ts";
import { giverOf, homeOf } from "./grant.ts";
import { ALL, expand, isBuiltIn, OWNERS_ON_HOST } from "./rights.ts";
import { roleNamed, showBuiltIn, showRole } from "./show.ts";

/** Roles that one organization may make. */
const ROLES_MAX = 100;
/** People of one organization. */
export const PEOPLE_MAX = 500;
/** Those who join at one moment may be more than the most. */
const PEOPLE_READ_MAX = 2 * PEOPLE_MAX;
/** People whom a refusal names. */
const NAMED_MAX = 20;

const BUILT_IN = Object.keys(BUILT_IN_ROLES);

/**
 * Makes a role.
 * @throws {Fault} VALIDATION_FAILED for what no role gives here, INSUFFICIENT_SCOPES beyond the caller's own rights, CONFLICT
 */
export async function createRole(
  work: Writing,
  { name, permissions }: { readonly name: string; readonly permissions: readonly string[] },
) {
  const { app, actor, tx } = work;
  const home = homeOf(actor.tenant.org);
  mustBeGiven(actor, permissions);
  await mustCoverPermissions(work, permissions);
  if (isBuiltIn(name.toLowerCase()) || await tx.get(roles, home, name) !== null) {
    throw new Fault("CONFLICT", `There is a role ${name} already. Choose another name.`);
  }
  if (await tx.count(roles, home) >= ROLES_MAX) {
    throw new Fault("CONFLICT", `There are ${ROLES_MAX} roles. Delete one first.`);
  }
  const now = app.ports.clock.now();
  const role = tx.put(roles, home, {
    id: name,
    permissions: tidy(permissions),
    created_by: actor.id,
    created_with: await credentialInHand(work),
    created_at_ms: now,
    updated_at_ms: now,
  });
  return showRole(role, actor.host);
}

/** The built-in roles and then the organization's own, by name. */
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
 * Replaces what a role permits, for everybody who has it, at once.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a built-in one, VALIDATION_FAILED for what no role gives here,
 * INSUFFICIENT_SCOPES when the old or the new permissions are beyond the caller's own rights
 */
export async function updateRole(
  work: Writing,
  name: string,
  { permissions, ...others }: { readonly permissions: readonly string[] },
) {
  const { app, actor, tx } = work;
  const role = await customRole(work, name);
  mustMatchRecord(others, showRole(role, actor.host));
  mustBeGiven(actor, permissions);
  await mustCoverPermissions(work, [...role.permissions, ...permissions]);
  const next = tx.put(roles, homeOf(actor.tenant.org), {
    ...role,
    permissions: tidy(permissions),
    updated_at_ms: app.ports.clock.now(),
  });
  stageReview(app, tx, actor.tenant.org);
  emit(work, tx, actor.tenant, {
    type: "role_updated",
    resource: { type: "role", id: name },
    details: { permissions_before: role.permissions, permissions_after: next.permissions },
  });
  return showRole(next, actor.host);
}

/**
 * Deletes a role that nobody has. Whoever gives a role writes its record, so one that is given at the
 * same moment is not deleted.
 * @throws {Fault} NOT_FOUND, FORBIDDEN for a built-in one, INSUFFICIENT_SCOPES, CONFLICT with who has it
 */
export async function deleteRole(work: Writing, name: string) {
  const { app, actor, tx } = work;
  const home = homeOf(actor.tenant.org);
  const role = await customRole(work, name);
  await mustCoverPermissions(work, role.permissions);
  const people = (await tx.list(users, home, { limit: PEOPLE_READ_MAX })).items
    .filter((user) => user.roles.includes(name));
  const invited = (await openInvitations(tx, home, app.ports.clock.now()))
    .filter(({ roles }) => roles.includes(name));
  if (people.length + invited.length > 0) {
    throw new Fault(
      "CONFLICT",
      `${people.length} people and ${invited.length} open invitations have this role. ` +
        "Revoke it from them first.",
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
  throw new Fault("FORBIDDEN", `${name} is a built-in role, which never changes.`);
}

/** @throws {Fault} VALIDATION_FAILED */
function mustBeGiven({ host }: Actor, permissions: readonly string[]): void {
  if (!host || !permissions.includes(OWNERS_ON_HOST)) return;
  const message =
    `${OWNERS_ON_HOST} is an owner's alone here, because it changes the installation.`;
  const issues = [{ path: "body.permissions", message }];
  throw new Fault("VALIDATION_FAILED", message, { issues });
}

async function mustCoverPermissions(work: Writing, permissions: readonly string[]): Promise<void> {
  const { rights } = await giverOf(work);
  mustCover(rights, expand(permissions), "A role may hold only rights that you have.");
}

/** Each once; `all` says everything. */
const tidy = (permissions: readonly string[]): string[] =>
  permissions.includes(ALL) ? [ALL] : [...new Set(permissions)];
