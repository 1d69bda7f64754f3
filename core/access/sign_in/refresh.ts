import { isWithin } from "../../../kv/store/clock.ts";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { type SessionRecord, sessions, users } from "../../../kv/records/user.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Stepping } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { notifyPerson } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";
import { issueTokens } from "./open_session.ts";
import type { SignIn } from "./parts.ts";
import { isGenuine, parseRefreshToken, sessionEndsAtMs } from "./refresh_token.ts";

/** How long a used refresh token gets the same successor again: the reply may have been lost. */
export const REPEAT_MS = 30_000;
/** Refreshes whose instants a session stores; older tokens count as used long ago. */
const REMEMBERED_MAX = 10;

const REFUSALS = {
  malformed: "Relay did not issue this refresh token, or it is incomplete.",
  ended: "The session of this refresh token has ended. Sign in again.",
  inactive: "The user or the organization is not active.",
  reused: "This refresh token was already used, so its session was ended. Sign in again.",
} as const;

/**
 * Exchanges a session's newest refresh token for the next one and a new JWT. A used token gets the same
 * successor again for `REPEAT_MS`; after that it ends the session, because two parties hold it.
 * @throws {Fault} INVALID_TOKEN
 */
export async function refreshSession(
  work: Stepping,
  { tokens }: Pick<SignIn, "tokens">,
  text: string,
) {
  const { store, ports, sealer } = work;
  const token = parseRefreshToken(text);
  if (token === null) throw refusal("malformed");
  const tenant = homeOf(token.org);
  const taken = await store.transact(async (tx) => {
    const session = await tx.get(sessions, tenant, token.sessionId);
    if (session === null || !isGenuine(sealer, session, token)) throw refusal("ended");
    const user = await tx.get(users, tenant, session.user_id);
    const organization = await tx.get(organizations, SYSTEM, token.org);
    if (!user?.active || !organization?.active) throw refusal("inactive");
    if (session.epoch !== user.session_epoch) throw refusal("ended");
    const by = { ...work, actor: { id: user.id } };
    const happened = {
      resource: { type: "session", id: session.id } as const,
      details: { email: user.email, address: work.request.address },
    };
    if (token.count === session.refresh_count) {
      emit(by, tx, tenant, { type: "session_refreshed", ...happened });
      return { organization, user, session: rotate(tx, tenant, session, ports.clock.now()) };
    }
    if (mayRepeat(session, token.count, ports.clock.now())) return { organization, user, session };
    tx.delete(sessions, tenant, session.id);
    emit(by, tx, tenant, { type: "refresh_token_reused", ...happened });
    const { address } = work.request;
    const notice = { type: "refresh_token_reused", resource: happened.resource } as const;
    await notifyPerson(work, tx, tenant, { ...notice, details: { address } }, user.id);
    return null;
  });
  if (taken === null) throw refusal("reused");
  return await issueTokens(
    work,
    tokens,
    taken.organization,
    taken.user,
    taken.session,
    token.count + 1,
  );
}

/** Moves the end of a session that is in use. */
export const rotate = (tx: Tx, tenant: Tenant, session: SessionRecord, nowMs: number) =>
  tx.put(sessions, tenant, rotated(session, nowMs));

/** What is refreshed by tokens that are numbered. */
type Refreshed = Pick<
  SessionRecord,
  "created_at_ms" | "expires_at_ms" | "refresh_count" | "refreshed_at_ms"
>;

/** The record after a refresh: its next token counts, and its end moves. */
export const rotated = <R extends Refreshed>(record: R, nowMs: number): R => ({
  ...record,
  expires_at_ms: sessionEndsAtMs(record.created_at_ms, nowMs),
  refresh_count: record.refresh_count + 1,
  refreshed_at_ms: [...record.refreshed_at_ms, nowMs].slice(-REMEMBERED_MAX),
});

/** True while a used token with this number still gets its successor. */
export function mayRepeat(record: Refreshed, count: number, nowMs: number): boolean {
  const usedAtMs = record.refreshed_at_ms.at(count - record.refresh_count);
  return usedAtMs !== undefined && isWithin(usedAtMs, REPEAT_MS, nowMs);
}

const refusal = (reason: keyof typeof REFUSALS) =>
  new Fault("INVALID_TOKEN", REFUSALS[reason], { reason });
