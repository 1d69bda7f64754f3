import type { Relay } from "../../core/relay.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import { ANONYMOUS, holderOfCookie, type LimitState, mustPass } from "../../core/access/access.ts";
import { authenticateSocket } from "../../core/agents/agents.ts";
import { Fault } from "../../core/fault/fault.ts";
import { hasCookie } from "./cookie.ts";
import { credentialOf, hasCredential, spaceOf } from "./request.ts";
import { mustBeOwnPage, sessionCookieOf } from "./session_cookie.ts";
import type { Route } from "../call/route.ts";

/** A request whose caller is not known yet. */
export interface Arrived {
  readonly raw: Request;
  readonly info: RequestInfo;
  /** True when the request may change something, whatever its method. */
  readonly changes: boolean;
}

/** True when this route reads the credential of a request. */
export function readsCredential(relay: Relay, { access }: Route, raw: Request): boolean {
  const { headers } = raw;
  if ("signedIn" in access && access.orCookie !== undefined) {
    return hasCredential(headers) || !hasCookie(headers, access.orCookie);
  }
  if (!("public" in access)) return true;
  return access.credential === "optional" &&
    (hasCredential(headers) || sessionCookieOf(relay, raw) !== null);
}

export type Authenticate = (
  relay: Relay,
  credential: string | null,
  space: Actor["tenant"]["space"],
) => Promise<Actor>;

const authenticate: Authenticate = (relay, credential, space) =>
  relay.authenticator.authenticate(credential, space);

/** The function that authenticates a credential for this route. */
export const authenticatorFor = ({ access }: Pick<Route, "access">): Authenticate =>
  "public" in access && access.devices ? authenticateSocket : authenticate;

/** The function that authenticates a credential at an MCP address, where the tokens for it count too. */
export const authenticatorAt = (resource: string): Authenticate => (relay, credential, space) =>
  relay.authenticator.authenticate(credential, space, resource);

/** Authenticates the caller. It returns no promise for a recently used key, which is the usual case. */
export function identify(
  relay: Relay,
  arrived: Arrived,
  limited: (state: LimitState) => void,
  find: (headers: Headers) => string | null = credentialOf,
  who: Authenticate = authenticate,
): Actor | Promise<Actor> {
  const span = arrived.info.trace?.child("authenticate");
  const credential = find(arrived.raw.headers);
  const known = credential === null ? null : relay.authenticator.knownHolder(credential);
  const actor = known ?? lookUp(relay, credential, arrived, limited, who);
  span?.endWith(actor);
  return actor;
}

/**
 * Authenticates the caller where a credential is optional: an invalid one makes the caller anonymous. A probe
 * with an expired key must not look like a failure of the relay. The attempt still counts against the address.
 */
export async function identifyIfAccepted(
  relay: Relay,
  arrived: Arrived,
  who: Authenticate,
): Promise<Actor> {
  try {
    return await identify(relay, arrived, () => {}, credentialOf, who);
  } catch (error) {
    if (error instanceof Fault && (error.status === 401 || error.status === 429)) return ANONYMOUS;
    throw error;
  }
}

/** A failed authentication counts against the address. */
async function lookUp(
  relay: Relay,
  credential: string | null,
  arrived: Arrived,
  limited: (state: LimitState) => void,
  who: Authenticate,
): Promise<Actor> {
  try {
    if (credential === "") {
      throw new Fault(
        "INVALID_TOKEN",
        "The Authorization header must be `Bearer <JWT or API key>`.",
        { reason: "malformed" },
      );
    }
    return await holderOf(relay, credential, arrived, who);
  } catch (error) {
    const limit = await relay.limiter.takeForAddress(arrived.info.address);
    limited(limit);
    mustPass(limit, relay.ports.clock.now());
    throw error;
  }
}

/** The holder of a credential or, without one, of the session cookie. The cookie counts nowhere else. */
async function holderOf(
  relay: Relay,
  credential: string | null,
  { raw, info, changes }: Arrived,
  who: Authenticate,
): Promise<Actor> {
  const space = spaceOf(raw.headers, credential);
  const cookie = credential === null ? sessionCookieOf(relay, raw) : null;
  if (cookie === null) return await who(relay, credential, space);
  mustBeOwnPage(relay, raw, changes);
  return await holderOfCookie(relay, cookie, space, info);
}

/**
 * Authenticates the caller of a request again: after its body has arrived, and while its response is open.
 * @throws {Fault} INVALID_TOKEN, INVALID_API_KEY
 */
export function identifyAgain(
  relay: Relay,
  arrived: Arrived,
  who: Authenticate = authenticate,
): Promise<Actor> {
  return holderOf(relay, credentialOf(arrived.raw.headers), arrived, who);
}
