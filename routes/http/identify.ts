import type { Relay } from "../../core/relay.ts";
import type { Actor, RequestInfo } from "../../core/identity/identity.ts";
import { ANONYMOUS, type LimitState, mustPass } from "../../core/access/access.ts";
import { authenticateSocket } from "../../core/agents/agents.ts";
import { Fault } from "../../core/fault/fault.ts";
import { credentialOf, hasCookie, hasCredential, spaceOf } from "./request.ts";
import type { Route } from "../call/route.ts";

/** True when this route reads the credential of a request. */
export function readsCredential({ access }: Route, headers: Headers): boolean {
  if ("signedIn" in access && access.orCookie !== undefined) {
    return hasCredential(headers) || !hasCookie(headers, access.orCookie);
  }
  if (!("public" in access)) return true;
  return access.credential === "optional" && hasCredential(headers);
}

type Authenticate = typeof authenticateSocket;

const authenticate: Authenticate = (relay, credential, space) =>
  relay.authenticator.authenticate(credential, space);

/** The function that authenticates a credential for this route. */
export const authenticatorFor = ({ access }: Pick<Route, "access">): Authenticate =>
  "public" in access && access.devices ? authenticateSocket : authenticate;

/** Authenticates the caller. It returns no promise for a recently used key, which is the usual case. */
export function identify(
  relay: Relay,
  headers: Headers,
  request: RequestInfo,
  limited: (state: LimitState) => void,
  find: (headers: Headers) => string | null = credentialOf,
  who: Authenticate = authenticate,
): Actor | Promise<Actor> {
  const credential = find(headers);
  const known = credential === null ? null : relay.authenticator.knownHolder(credential);
  return known ?? lookUp(relay, credential, headers, request, limited, who);
}

/**
 * Authenticates the caller where a credential is optional: an invalid one makes the caller anonymous. A probe
 * with an expired key must not look like a failure of the relay. The attempt still counts against the address.
 */
export async function identifyIfAccepted(
  relay: Relay,
  headers: Headers,
  request: RequestInfo,
  who: Authenticate,
): Promise<Actor> {
  try {
    return await identify(relay, headers, request, () => {}, credentialOf, who);
  } catch (error) {
    if (error instanceof Fault && (error.status === 401 || error.status === 429)) return ANONYMOUS;
    throw error;
  }
}

/** A failed authentication counts against the address. */
async function lookUp(
  relay: Relay,
  credential: string | null,
  headers: Headers,
  request: RequestInfo,
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
    return await who(relay, credential, spaceOf(headers, credential));
  } catch (error) {
    const limit = await relay.limiter.takeForAddress(request.address);
    limited(limit);
    mustPass(limit, relay.ports.clock.now());
    throw error;
  }
}

/**
 * Authenticates the credential of a request again: after its body has arrived, and while its response is open.
 * @throws {Fault} INVALID_TOKEN, INVALID_API_KEY
 */
export function identifyAgain(
  relay: Relay,
  headers: Headers,
  who: Authenticate = authenticate,
): Promise<Actor> {
  const credential = credentialOf(headers);
  return who(relay, credential, spaceOf(headers, credential));
}
