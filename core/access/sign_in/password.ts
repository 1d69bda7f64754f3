import { sessions, type UserRecord, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Stepping } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { hashPassword, verifyPassword } from "./passwords.ts";
import { homeOf } from "../roles/grant.ts";
import { mustBeSignedIn } from "../people/person.ts";
import type { SignIn } from "./parts.ts";
import { endSessions } from "./sessions.ts";

/**
 * Changes the caller's password and ends their other sessions before this answers.
 * @throws {Fault} FORBIDDEN for an API key or a wrong password, VALIDATION_FAILED, RATE_LIMIT_EXCEEDED
 */
export async function changePassword(
  work: Stepping,
  logins: SignIn["logins"],
  input: { readonly current_password: string; readonly new_password: string },
) {
  const { store, ports, actor } = work;
  mustBeSignedIn(actor);
  const user = await mustKnowPassword(work, logins, input.current_password);
  if (input.new_password === input.current_password) {
    const message = "The new password must differ from the current one.";
    const issues = [{ path: "body.new_password", message }];
    throw new Fault("VALIDATION_FAILED", message, { issues });
  }
  const password = await hashPassword(input.new_password, ports);
  return await store.transact(async (tx) => {
    const now = await mustBeUnchanged(tx, actor, user);
    const theirs = { ...now, password, also_of: [] };
    const sessions_ended = await startSessionsAnew(tx, actor, theirs);
    emit(work, tx, actor.tenant, {
      type: "password_changed",
      resource: { type: "user", id: user.id },
      details: { email: user.email, sessions_ended, address: work.request.address },
    });
    return { sessions_ended };
  });
}

/**
 * Checks the caller's password, and returns their record.
 * @throws {Fault} FORBIDDEN, RATE_LIMIT_EXCEEDED
 */
export async function mustKnowPassword(
  { ports, db, actor }: Stepping,
  logins: SignIn["logins"],
  password: string,
): Promise<UserRecord> {
  const who = {
    key: `password ${actor.userId}`,
    of: { type: "user", id: actor.userId },
    whose: "at the password of this user",
  } as const;
  return await logins.attempt(who, async () => {
    const user = await db.get(users, homeOf(actor.tenant.org), actor.userId);
    const good = await verifyPassword(password, user?.password ?? null, ports);
    if (good && user !== null) return user;
    throw new Fault("FORBIDDEN", "The password is wrong.");
  });
}

/** The user as stored now. @throws {Fault} CONFLICT if the password has changed meanwhile */
export async function mustBeUnchanged(
  tx: Tx,
  actor: Actor,
  { id, password }: UserRecord,
): Promise<UserRecord> {
  const user = await tx.get(users, homeOf(actor.tenant.org), id);
  if (user?.active && user.password === password) return user;
  throw new Fault("CONFLICT", "The account was changed at the same time. Sign in and try again.");
}

/**
 * Stores a user under a new epoch, which ends every session but the caller's, concurrent sign-ins included.
 * Returns the number of ended sessions.
 */
export async function startSessionsAnew(
  tx: Tx,
  { tenant, sessionId }: Pick<Actor, "tenant" | "sessionId">,
  user: UserRecord,
  more: { readonly second_factor?: boolean } = {},
): Promise<number> {
  const home = homeOf(tenant.org);
  const session_epoch = user.session_epoch + 1;
  tx.put(users, home, { ...user, session_epoch });
  const own = sessionId === null ? null : await tx.get(sessions, home, sessionId);
  if (own !== null && own.user_id === user.id) {
    tx.put(sessions, home, { ...own, ...more, epoch: session_epoch });
  }
  return await endSessions(tx, home, user.id, sessionId);
}
