import { secondFactors } from "../../../kv/records/second_factor.ts";
import { type UserRecord, users } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Actor } from "../../identity/identity.ts";
import type { Work, Writing } from "../../work/work.ts";
import { endSessions, newestSession } from "../sign_in/sessions.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { personOf } from "../roles/assign.ts";
import { giverOf, homeOf, mustBeAbleToGive, mustKeepAnOwner } from "../roles/grant.ts";
import { stageReview } from "../standing/review.ts";

/** The people of the organization, oldest first. */
export async function listPeople({ db, actor }: Work, paging: Paging) {
  const { items, pagination } = await listPage(db, users, homeOf(actor.tenant.org), paging);
  const shown = await Promise.all(items.map((user) => showPerson(db, actor, user)));
  return { users: shown, pagination };
}

/**
 * Deactivates a person: their sessions end and their keys stop working before this answers.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES and FORBIDDEN for a person with more rights than the caller,
 * CONFLICT for the last owner
 */
export async function deactivatePerson(work: Writing, id: string) {
  const { actor, tx } = work;
  const user = await manageable(work, id);
  if (!user.active) return await showPerson(tx, actor, user);
  await mustKeepAnOwner(work, user);
  const home = homeOf(actor.tenant.org);
  const session_epoch = user.session_epoch + 1;
  const off = tx.put(users, home, { ...user, active: false, session_epoch });
  stageReview(work, tx, actor.tenant.org);
  const sessions_ended = await endSessions(tx, home, id, null);
  emit(work, tx, actor.tenant, {
    type: "user_deactivated",
    resource: { type: "user", id },
    details: { email: user.email, sessions_ended },
  });
  return await showPerson(tx, actor, off);
}

/**
 * Activates a person again: they can sign in, and their keys work as before.
 * @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES and FORBIDDEN for a person with more rights than the caller
 */
export async function activatePerson(work: Writing, id: string) {
  const { actor, tx } = work;
  const user = await manageable(work, id);
  if (user.active) return await showPerson(tx, actor, user);
  const on = tx.put(users, homeOf(actor.tenant.org), { ...user, active: true });
  stageReview(work, tx, actor.tenant.org);
  emit(work, tx, actor.tenant, {
    type: "user_activated",
    resource: { type: "user", id },
    details: { email: user.email, roles: user.roles },
  });
  return await showPerson(tx, actor, on);
}

/** A person whose roles the caller could give. */
async function manageable(work: Writing, id: string): Promise<UserRecord> {
  const user = await personOf(work.tx, work.actor.tenant.org, id);
  if (user.id === work.actor.userId) {
    throw new Fault(
      "CONFLICT",
      "You cannot activate or deactivate yourself. Ask another administrator.",
    );
  }
  await mustBeAbleToGive(work, await giverOf(work), user.roles);
  return user;
}

/** How somebody signs in is only for those who manage users: it would show whom to attack. */
async function showPerson(db: Reader, { tenant, rights }: Actor, user: UserRecord) {
  const home = homeOf(tenant.org);
  const isManaged = rights.has("system:write");
  const factor = isManaged ? await db.get(secondFactors, home, user.id) : null;
  const session = isManaged ? await newestSession(db, home, user.id) : null;
  return {
    id: user.id,
    email: user.email,
    roles: [...user.roles],
    active: user.active,
    created_at: iso(user.created_at_ms),
    second_factor: isManaged ? (factor?.confirmed_at_ms ?? null) !== null : null,
    signed_in_at: isoOrNull(session?.created_at_ms ?? null),
  };
}
