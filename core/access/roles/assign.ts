import { roles } from "../../../kv/records/role.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Work, Writing } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { stageReview } from "../standing/review.ts";
import { giverOf, homeOf, mustBeAbleToGive, mustKeepAnOwner, OWNER } from "./grant.ts";
import { rightsOf } from "./rights.ts";
import { roleNamed } from "./show.ts";

/** Maximum number of roles that one person may have. */
export const ROLES_EACH_MAX = 16;

/**
 * Gives a role to a person. Giving it again changes nothing.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES and FORBIDDEN beyond the caller's own rights, CONFLICT
 */
export async function assignRole(work: Writing, name: string, userId: string) {
  const { actor, tx } = work;
  await mustExist(tx, actor.tenant.org, [name]);
  const user = await personOf(tx, actor.tenant.org, userId);
  await mustBeAbleToGive(work, await giverOf(work), [name]);
  if (user.roles.includes(name)) return await showRolesOf(tx, actor, user);
  if (user.roles.length >= ROLES_EACH_MAX) {
    throw new Fault(
      "CONFLICT",
      `A user can have at most ${ROLES_EACH_MAX} roles. Revoke one first.`,
    );
  }
  return await change(work, user, [...user.roles, name], "role_assigned", name);
}

/**
 * Takes a role from a person, for every request that starts after the answer.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES and FORBIDDEN beyond the caller's own rights, CONFLICT
 * for the last owner
 */
export async function revokeRole(work: Writing, name: string, userId: string) {
  const { actor, tx } = work;
  await roleNamed(tx, actor.tenant.org, name);
  const user = await personOf(tx, actor.tenant.org, userId);
  await mustBeAbleToGive(work, await giverOf(work), [name]);
  if (!user.roles.includes(name)) return await showRolesOf(tx, actor, user);
  if (name === OWNER) await mustKeepAnOwner(work, user);
  return await change(work, user, user.roles.filter((role) => role !== name), "role_revoked", name);
}

/** @throws {Fault} NOT_FOUND */
export async function rolesOfUser({ db, actor }: Work, userId: string) {
  return await showRolesOf(db, actor, await personOf(db, actor.tenant.org, userId));
}

/**
 * Refuses missing roles. Writes the record of each role, so that a concurrent deletion reruns and sees who has
 * it.
 * @throws {Fault} NOT_FOUND
 */
export async function mustExist(tx: Tx, org: string, names: readonly string[]): Promise<void> {
  for (const name of names) {
    const role = await roleNamed(tx, org, name);
    if (role !== "built_in") tx.put(roles, homeOf(org), role);
  }
}

/** A person of the organization. @throws {Fault} NOT_FOUND */
export async function personOf(db: Reader, org: string, userId: string): Promise<UserRecord> {
  const user = await db.get(users, homeOf(org), userId);
  if (user === null) throw new Fault("NOT_FOUND", "There is no such user.");
  return user;
}

async function change(
  work: Writing,
  user: UserRecord,
  names: string[],
  type: "role_assigned" | "role_revoked",
  role: string,
) {
  const { actor, tx } = work;
  const next = tx.put(users, homeOf(actor.tenant.org), { ...user, roles: names });
  stageReview(work, tx, actor.tenant.org);
  emit(work, tx, actor.tenant, {
    type,
    resource: { type: "user", id: user.id },
    details: { role, email: user.email, roles_before: user.roles, roles_after: next.roles },
  });
  return await showRolesOf(tx, actor, next);
}

async function showRolesOf(db: Reader, { tenant, host }: Actor, user: UserRecord) {
  const rights = await rightsOf(db, { id: tenant.org, host }, user.roles);
  return {
    user_id: user.id,
    email: user.email,
    active: user.active,
    roles: [...user.roles],
    permissions: [...rights],
  };
}
