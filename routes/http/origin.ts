import type { Relay } from "../../core/relay.ts";
import type { Config } from "../../core/context/context.ts";
import { Fault } from "../../core/fault/fault.ts";
import { headersOf } from "./answer.ts";
import { failure } from "./refusal.ts";

/** A host of this machine, with or without a port. */
export const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** The request headers that CORS allows a page of an allowed site, beside those that every page may send. */
const REQUEST_HEADERS = [
  "authorization",
  "content-type",
  "idempotency-key",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-protocol-version",
  "mcp-session-id",
  "x-api-key",
  "x-relay-space",
].join(", ");

/** The response headers that CORS lets such a page read. */
const RESPONSE_HEADERS = [
  "deprecation",
  "mcp-session-id",
  "retry-after",
  "sunset",
  "www-authenticate",
  "x-ratelimit-limit",
  "x-ratelimit-remaining",
  "x-ratelimit-reset",
  "x-request-id",
].join(", ");

/** The most characters of a header that a refusal repeats. */
const QUOTED_CHARS_MAX = 200;
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const PREFLIGHT_SECONDS = 600;

/** The settings that decide which pages may call. */
interface OriginRules {
  readonly config: () => Pick<Config, "allowed_origins">;
  readonly settings: { readonly local: boolean; readonly publicUrl: string | null };
}

/** The host that a request asks for. */
export const hostOf = (request: Request): string =>
  request.headers.get("host") ?? new URL(request.url).host;

/**
 * True for a page that may act for its visitor: a page of the relay's own address, or of a site in
 * `allowed_origins`. A local relay answers to every loopback name, so only the port must match.
 */
function isAllowedOrigin(
  { config, settings }: OriginRules,
  request: Request,
  origin: string,
): boolean {
  if (config().allowed_origins.includes(origin)) return true;
  const from = URL.parse(origin);
  if (from === null) return false;
  const { local, publicUrl } = settings;
  if (publicUrl !== null) return from.origin === publicUrl;
  const host = hostOf(request);
  return from.host === host ||
    local && LOOPBACK.test(from.host) && portIn(from.host) === portIn(host);
}

/**
 * Refuses a page of another site, which must not act for its visitor.
 * @throws {Fault} FORBIDDEN
 */
export function mustBeAllowedOrigin(rules: OriginRules, request: Request): void {
  const origin = request.headers.get("origin");
  if (origin === null || isAllowedOrigin(rules, request, origin)) return;
  const message = "Pages of this origin may not call this server. To allow it, add the origin to " +
    "`allowed_origins`.";
  throw new Fault("FORBIDDEN", message);
}

const portIn = (host: string): string => /:(\d+)$/.exec(host)?.[1] ?? "";

/**
 * Refuses pages of other sites at a relay that only this machine reaches. The first signup claims such a relay,
 * and a browser on the machine sends what any page tells it to. A foreign Host reveals a page whose name
 * resolves to this machine (DNS rebinding).
 */
export function refuseForeignPages<I>(
  relay: Relay,
  serve: (request: Request, info: I) => Response | Promise<Response>,
): (request: Request, info: I) => Response | Promise<Response> {
  return (request, info) => {
    const why = relay.settings.local ? refusalReason(relay, request) : null;
    if (why === null) return serve(request, info);
    relay.metrics.request("unknown", 403, 0);
    const requestId = relay.ports.entropy.uuid();
    return failure({ requestId, limit: relay.limiter.unlimited() }, new Fault("FORBIDDEN", why));
  };
}

/** Why a local relay refuses this request, or null. */
function refusalReason(rules: OriginRules, request: Request): string | null {
  const { headers, method } = request;
  const host = hostOf(request);
  if (!LOOPBACK.test(host)) {
    return "This server only answers to names of this machine, such as localhost, not to " +
      `${quoted(host)}. To serve it under another name, set RELAY_PUBLIC_URL.`;
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    return isAllowedOrigin(rules, request, origin)
      ? null
      : `Pages of ${quoted(origin)} may not call this server. Add the origin to ` +
        "`allowed_origins`; if it is this server's own, set RELAY_PUBLIC_URL.";
  }
  // Links and the return from an OAuth provider are navigations, which change nothing.
  const followed = method === "GET" && headers.get("sec-fetch-mode") === "navigate";
  return headers.get("sec-fetch-site") !== "cross-site" || followed
    ? null
    : "Pages of another site may not call this server. To allow it, add its origin to " +
      "`allowed_origins`.";
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARS_MAX));

/**
 * Lets pages of the sites in `allowed_origins` call the relay (CORS). They send a credential of their own;
 * cookies are not allowed.
 */
export function allowCrossOrigin<I>(
  relay: Relay,
  serve: (request: Request, info: I) => Response | Promise<Response>,
): (request: Request, info: I) => Response | Promise<Response> {
  return (request, info) => {
    const { allowed_origins } = relay.config();
    if (allowed_origins.length === 0) return serve(request, info);
    const origin = request.headers.get("origin");
    const allowed = origin !== null && allowed_origins.includes(origin);
    if (allowed && isPreflight(request)) return preflight(relay, origin);
    return answerPage(serve(request, info), allowed ? origin : null);
  };
}

const isPreflight = ({ method, headers }: Request): boolean =>
  method === "OPTIONS" && headers.has("access-control-request-method");

/** The same for every path, so that a page cannot find out which paths exist. */
const preflight = ({ ports, limiter }: Relay, origin: string): Response =>
  new Response(null, {
    status: 204,
    headers: {
      ...headersOf({ requestId: ports.entropy.uuid(), limit: limiter.unlimited() }),
      "access-control-allow-origin": origin,
      "access-control-allow-methods": METHODS,
      "access-control-allow-headers": REQUEST_HEADERS,
      "access-control-max-age": `${PREFLIGHT_SECONDS}`,
      "vary": "origin",
    },
  });

async function answerPage(
  answered: Response | Promise<Response>,
  origin: string | null,
): Promise<Response> {
  const response = await answered;
  if (response.status === 101) return response; // a WebSocket, whose handshake checked the origin
  response.headers.append("vary", "origin");
  if (origin !== null) {
    response.headers.set("access-control-allow-origin", origin);
    response.headers.set("access-control-expose-headers", RESPONSE_HEADERS);
  }
  return response;
}
