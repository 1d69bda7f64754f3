import type { Settings } from "../../core/context/context.ts";
import type { Cookie } from "../../core/identity/identity.ts";
import { hostOf } from "./origin.ts";

/** The settings that say where the relay's pages are. */
export interface CookieParts {
  readonly settings: Pick<Settings, "publicUrl">;
}

/**
 * The prefix of each cookie's name over HTTPS, which binds the cookie to the host. It requires `Secure`, which not every
 * browser accepts over plain HTTP on loopback.
 */
const BOUND = "__Host-";

/** The origin of the relay's own pages, as the browser of this request should name it. */
export const ownOrigin = ({ settings }: CookieParts, request: Request): URL =>
  new URL(settings.publicUrl ?? `${new URL(request.url).protocol}//${hostOf(request)}`);

const isHttps = ({ protocol }: URL): boolean => protocol === "https:";

/** The value of a cookie; null without one. */
export function cookieOf(parts: CookieParts, request: Request, name: string): string | null {
  const sent = request.headers.get("cookie")?.split(/; */);
  if (sent === undefined) return null;
  const start = `${isHttps(ownOrigin(parts, request)) ? BOUND : ""}${name}=`;
  return sent.find((pair) => pair.startsWith(start))?.slice(start.length) ?? null;
}

/** True for a request with a cookie whose name begins like this. */
export const hasCookie = (headers: Headers, prefix: string): boolean =>
  headers.get("cookie")?.split(/; */).some((pair) =>
    pair.startsWith(prefix) || pair.startsWith(BOUND + prefix)
  ) ?? false;

/** The `Set-Cookie` of a cookie for this host alone, hidden from scripts and from requests that other sites post. */
export function setCookie(
  parts: CookieParts,
  request: Request,
  { name, value, maxAgeSeconds }: Cookie,
  sameSite: "Lax" | "Strict" = "Lax",
): string {
  const isBound = isHttps(ownOrigin(parts, request));
  const age = value === null ? 0 : maxAgeSeconds;
  const only = `${isBound ? "Secure; " : ""}HttpOnly; SameSite=${sameSite}`;
  return `${isBound ? BOUND : ""}${name}=${value ?? ""}; Path=/; Max-Age=${age}; ${only}`;
}
