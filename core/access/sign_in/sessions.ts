import type { Tenant } from "../../../kv/store/collection.ts";
import { type SessionRecord, sessions } from "../../../kv/records/user.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Work, Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { pageOf, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { homeOf } from "../roles/grant.ts";
import { mustBeSignedIn } from "../people/person.ts";

/** Maximum number of sessions of one person; beyond it, the session with the earliest expiry ends. */
export const SESSIONS_MAX = 50;
/** Above the maximum, because concurrent sign-ins may exceed it. */
const READ_MAX = 2 * SESSIONS_MAX;

/** The caller's own sessions, newest first. @throws {Fault} FORBIDDEN */
export async function listSessions({ db, actor }: Work, paging: Paging) {
  mustBeSignedIn(actor);
  const home = homeOf(actor.tenant.org);
  const { items, pagination } = pageOf(await openSessions(db, home, actor.userId, true), paging);
  const show = (session: SessionRecord) => ({
    id: session.id,
    current: session.id === actor.sessionId,
    address: session.address,
    second_factor: session.second_factor,
    created_at: iso(session.created_at_ms),
    refreshed_at: isoOrNull(session.refreshed_at_ms.at(-1) ?? null),
    expires_at: iso(session.expires_at_ms),
  });
  return { sessions: items.map(show), pagination };
}

/** The session that a person began last, if it has not ended. */
export async function newestSession(
  db: Reader,
  home: Tenant,
  userId: string,
): Promise<SessionRecord | null> {
  const newest = { index: "user", prefix: [userId], limit: 1, reverse: true };
  return (await db.list(sessions, home, newest)).items[0] ?? null;
}

/** Ends one of the caller's own sessions before this answers. @throws {Fault} NOT_FOUND, FORBIDDEN */
export async function endSession({ actor, tx }: Writing, id: string) {
  mustBeSignedIn(actor);
  const home = homeOf(actor.tenant.org);
  const session = await tx.get(sessions, home, id);
  if (session === null || session.user_id !== actor.userId) {
    throw new Fault("NOT_FOUND", "There is no such session.");
  }
  tx.delete(sessions, home, id);
  return { id, address: session.address, user_id: actor.userId };
}

/** Signs the caller out: ends this session, or all of theirs. @throws {Fault} FORBIDDEN */
export async function endOwnSessions(work: Writing, everywhere: boolean): Promise<void> {
  const { actor, tx } = work;
  mustBeSignedIn(actor);
  const home = homeOf(actor.tenant.org);
  const ids = everywhere
    ? (await openSessions(tx, home, actor.userId)).map(({ id }) => id)
    : [actor.sessionId];
  for (const id of ids) {
    const { address, user_id } = await endSession(work, id);
    const resource = { type: "session", id } as const;
    emit(work, tx, home, { type: "session_ended", resource, details: { address, user_id } });
  }
}

/** Ends a person's sessions except `kept`; returns how many. */
export async function endSessions(
  tx: Tx,
  home: Tenant,
  userId: string,
  kept: string | null,
): Promise<number> {
  const ended = (await openSessions(tx, home, userId)).filter(({ id }) => id !== kept);
  for (const { id } of ended) tx.delete(sessions, home, id);
  return ended.length;
}

/** Ends the sessions that would end first, so that one more stays within the maximum. */
export async function endSurplus(tx: Tx, home: Tenant, userId: string): Promise<void> {
  const open = (await openSessions(tx, home, userId))
    .toSorted((a, b) => a.expires_at_ms - b.expires_at_ms);
  for (const { id } of open.slice(0, Math.max(0, open.length - SESSIONS_MAX + 1))) {
    tx.delete(sessions, home, id);
  }
}

/** A person's sessions, oldest first unless reversed. */
async function openSessions(
  db: Reader,
  home: Tenant,
  userId: string,
  reverse = false,
): Promise<SessionRecord[]> {
  const own = { index: "user", prefix: [userId], limit: READ_MAX, reverse };
  return (await db.list(sessions, home, own)).items;
}
