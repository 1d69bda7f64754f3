import type { Cookie } from "../../core/identity/identity.ts";
import { Fault } from "../../core/fault/fault.ts";
import { cookieOf, type CookieParts as Parts, ownOrigin, setCookie } from "./cookie.ts";
import { LOOPBACK } from "./origin.ts";

/**
 * The name of the session cookie. Browsers send a cookie to every port of its host, so the name has the port: two
 * relays on one host do not overwrite each other's cookie.
 */
const nameFor = ({ protocol, port }: URL): string =>
  `relay_session_${port || (protocol === "https:" ? 443 : 80)}`;

/** The value of the session cookie; null without one. */
export function sessionCookieOf(parts: Parts, request: Request): string | null {
  if (!request.headers.has("cookie")) return null;
  return cookieOf(parts, request, nameFor(ownOrigin(parts, request)));
}

/** The `Set-Cookie` of a sign-in or, for the value null, of a sign-out. */
export function setSessionCookie(
  parts: Parts,
  request: Request,
  session: Omit<Cookie, "name">,
): string {
  const name = nameFor(ownOrigin(parts, request));
  return setCookie(parts, request, { ...session, name }, "Strict");
}

/**
 * Refuses a request that a page of another origin may have caused, for the session cookie or with it. `SameSite`
 * does not stop the pages of other ports of the host, and `none` may be a link in another program.
 * @throws {Fault} FORBIDDEN
 */
export function mustBeOwnPage(parts: Parts, request: Request, changes: boolean): void {
  const { headers, method } = request;
  const own = ownOrigin(parts, request);
  const site = headers.get("sec-fetch-site");
  const origin = headers.get("origin");
  const isSocket = headers.has("upgrade");
  if (changes && [own, URL.parse(origin ?? "")].some(isInsecure)) {
    throw new Fault("FORBIDDEN", INSECURE);
  }
  // Chromium sends no Sec-Fetch-Site when it opens a WebSocket, but always the Origin.
  const hasGoodSite = site === "same-origin" || site === null && (isSocket || !changes) ||
    site === "none" && !changes;
  if (!hasGoodSite) throw new Fault("FORBIDDEN", FOREIGN);
  // Browsers leave the Origin out of a GET by a page of the same origin.
  const hasGoodOrigin = origin === own.origin || origin === null && method === "GET" && !isSocket;
  if (!hasGoodOrigin) throw new Fault("FORBIDDEN", wrongOrigin(own.origin));
}

/** True where browsers do not keep the cookie to themselves: plain HTTP beyond this machine. */
const isInsecure = (url: URL | null): boolean =>
  url?.protocol === "http:" && !LOOPBACK.test(url.host);

const INSECURE = "HTTPS needed: a browser signs in by cookie over HTTPS, or over HTTP on the " +
  "relay's own machine. Serve HTTPS and set RELAY_PUBLIC_URL.";
const FOREIGN = "The session cookie is only for requests of the relay's own pages, with " +
  "`Sec-Fetch-Site: same-origin`. Elsewhere, send a bearer token or an API key.";
const wrongOrigin = (own: string) =>
  `The session cookie is only for pages of ${own}, by their \`Origin\` header. Open that ` +
  "address. If it is not this server's, set RELAY_PUBLIC_URL.";
