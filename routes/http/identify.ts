import type { Actor, App, RequestInfo } from "../../core/work/work.ts";
import { ANONYMOUS } from "../../core/access/authenticate.ts";
import { authenticateSocket } from "../../core/agents/devices/holder.ts";
import { Fault } from "../../core/fault/fault.ts";
import { type LimitState, mustPass } from "../../core/access/limits/limiter.ts";
import { credentialOf, hasCookie, hasCredential, spaceOf } from "./request.ts";
import type { Route } from "../call/route.ts";

/** True for a request whose credential counts. */
export function asksWho({ access }: Route, headers: Headers): boolean {
  if ("signedIn" in access && access.orCookie !== undefined) {
    return hasCredential(headers) || !hasCookie(headers, access.orCookie);
  }
  if (!("public" in access)) return true;
  return access.credential === "optional" && hasCredential(headers);
}

type Authenticate = typeof authenticateSocket;

const authenticate: Authenticate = (app, credential, space) =>
  app.authenticator.authenticate(credential, space);

/** What finds out who holds a credential that is shown to this route. */
export const authenticatorFor = ({ access }: Pick<Route, "access">): Authenticate =>
  "public" in access && access.devices ? authenticateSocket : authenticate;

/** Who is asking: at once for a key that was used lately, which most callers are. */
export function identify(
  app: App,
  headers: Headers,
  request: RequestInfo,
  limited: (state: LimitState) => void,
  find: (headers: Headers) => string | null = credentialOf,
  who: Authenticate = authenticate,
): Actor | Promise<Actor> {
  const credential = find(headers);
  const known = credential === null ? null : app.authenticator.knownHolder(credential);
  return known ?? lookUp(app, credential, headers, request, limited, who);
}

/**
 * Who is asking where a credential is optional: nobody, when it is not accepted. A probe whose key has ended
 * must not read as a failure of what it probes. The failure counts against the address all the same.
 */
export async function identifyIfAccepted(
  app: App,
  headers: Headers,
  request: RequestInfo,
  who: Authenticate,
): Promise<Actor> {
  try {
    return await identify(app, headers, request, () => {}, credentialOf, who);
  } catch (error) {
    if (error instanceof Fault && (error.status === 401 || error.status === 429)) return ANONYMOUS;
    throw error;
  }
}

/** A failure to say who is asking counts against the address. */
async function lookUp(
  app: App,
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
    return await who(app, credential, spaceOf(headers, credential));
  } catch (error) {
    const limit = await app.limiter.takeForAddress(request.address);
    limited(limit);
    mustPass(limit, app.ports.clock.now());
    throw error;
  }
}

/**
 * Who asks now, by the credential that a request came with: for what takes time, as bodies and open
 * answers do.
 * @throws {Fault} INVALID_TOKEN, INVALID_API_KEY
 */
export function identifyAgain(
  app: App,
  headers: Headers,
  who: Authenticate = authenticate,
): Promise<Actor> {
  const credential = credentialOf(headers);
  return who(app, credential, spaceOf(headers, credential));
}
