import { type SessionRecord, sessions, users } from "../../../kv/records/user.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { constantTimeEqual, iso } from "../../codec/codec.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { type Actor, type RequestInfo, WithSession } from "../../identity/identity.ts";
import type { Stepping, Writing } from "../../work/work.ts";
import { ANONYMOUS, type Authenticator } from "../authenticate.ts";
import { homeOf } from "../roles/grant.ts";
import { beginSession, type Login } from "./log_in.ts";
import { type Begun, missingFactor } from "./open_session.ts";
import type { SignIn } from "./parts.ts";
import { rotate } from "./refresh.ts";
import { cookieValue, parseCookieValue, SESSION_MAX_MS, sessionEndsAtMs } from "./refresh_token.ts";
import { endOwnSessions } from "./sessions.ts";
import { createAccount, type NewAccount } from "./sign_up.ts";

/** A session in use is renewed at most this often, so that few requests write. */
const RENEWED_EVERY_MS = 60 * 60 * 1000;

/** Signs a browser in. @throws {Fault} INVALID_LOGIN, RATE_LIMIT_EXCEEDED */
export const logInByCookie = async (
  work: Stepping,
  parts: Parameters<typeof beginSession>[1],
  input: Login,
) => inCookie(work, await beginSession(work, parts, input));

/** Signs a person up, and their browser in. @throws {Fault} as `createAccount` */
export const signUpByCookie = async (
  work: Stepping,
  parts: Omit<SignIn, "tokens">,
  input: NewAccount,
) => inCookie(work, await createAccount(work, parts, input));

/**
 * The answer to a browser: the session is in a cookie that no script can read, and in no answer. The browser keeps the
 * cookie for as long as a session can last; the session's record decides whether it still counts.
 */
function inCookie({ sealer }: Pick<Stepping, "sealer">, begun: Begun) {
  const { session } = begun;
  return new WithSession(
    { expires_at: iso(session.expires_at_ms), ...missingFactor(begun) },
    sessionCookie({ sealer }, begun),
  );
}

/** The cookie of a session. The transport names it. */
export const sessionCookie = (
  { sealer }: Pick<Stepping, "sealer">,
  { organization, session }: Begun,
) => ({
  value: cookieValue(sealer, organization.id, session),
  maxAgeSeconds: SESSION_MAX_MS / 1000,
});

/** Ends the caller's session, or all their sessions, and deletes the cookie. @throws {Fault} FORBIDDEN */
export async function logOut(work: Writing, everywhere: boolean) {
  await endOwnSessions(work, everywhere);
  return new WithSession(null, { value: null, maxAgeSeconds: 0 });
}

/** What a session needs to be found and renewed. */
type Parts = Pick<Context, "store" | "ports" | "sealer" | "signals"> & {
  readonly authenticator: Pick<Authenticator, "current">;
};

/** The user of a cookie, with current rights. Use moves the end of the session. @throws {Fault} INVALID_TOKEN */
export async function holderOfCookie(
  parts: Parts,
  value: string,
  space: Tenant["space"],
  request: RequestInfo,
): Promise<Actor> {
  const named = parseCookieValue(value);
  if (named === null) throw refusal("malformed");
  const { org, sessionId } = named;
  const home = homeOf(org);
  const session = await parts.store.get(sessions, home, sessionId);
  if (session === null || !isGenuine(parts, org, session, value)) throw refusal("ended");
  const actor = await parts.authenticator.current({
    ...ANONYMOUS,
    kind: "user",
    tenant: { org, space },
    userId: session.user_id,
    sessionId,
  });
  if (actor === null) throw refusal("ended");
  const { expires_at_ms: expiresAtMs } = isDue(session, parts.ports.clock.now())
    ? await renew(parts, home, actor, request)
    : session;
  return { ...actor, expiresAtMs };
}

const isGenuine = ({ sealer }: Parts, org: string, session: SessionRecord, value: string) =>
  session.sealed_refresh_secret !== null &&
  constantTimeEqual(cookieValue(sealer, org, session), value);

/** True when a renewal would move the end by enough to be worth a write. */
const isDue = ({ created_at_ms, expires_at_ms }: SessionRecord, nowMs: number): boolean =>
  sessionEndsAtMs(created_at_ms, nowMs) - expires_at_ms >= RENEWED_EVERY_MS;

function renew(
  parts: Parts,
  home: Tenant,
  actor: Actor,
  request: RequestInfo,
): Promise<SessionRecord> {
  const nowMs = parts.ports.clock.now();
  return parts.store.transact(async (tx) => {
    const session = await tx.get(sessions, home, actor.sessionId!);
    const user = await tx.get(users, home, actor.userId);
    if (session === null || user === null) throw refusal("ended");
    if (!isDue(session, nowMs)) return session; // another request of the browser was faster
    emit({ ...parts, actor, request }, tx, home, {
      type: "session_refreshed",
      resource: { type: "session", id: session.id },
      details: { email: user.email, address: request.address },
    });
    return rotate(tx, home, session, nowMs);
  });
}

const REFUSALS = {
  malformed: "The session cookie is not one of this relay. Sign in again.",
  ended: "The session of the cookie has ended. Sign in again.",
} as const;

const refusal = (reason: keyof typeof REFUSALS) =>
  new Fault("INVALID_TOKEN", REFUSALS[reason], { reason });
