import type { App } from "../core/app.ts";
import { headersOf } from "./_answer.ts";

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d{1,5})?$/i;

/** What a page of an allowed site may send beside what every page may. */
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

/** What it may read of an answer beside what every page may. */
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

const METHODS = "GET, POST, PUT, PATCH, DELETE";
const PREFLIGHT_SECONDS = 600;

/** True for a host name, with or without a port, by which only this machine is meant. */
export const isLoopback = (host: string): boolean => LOOPBACK.test(host);

/** The host that a request asks for, as it says. */
export const hostOf = (request: Request): string =>
  request.headers.get("host") ?? new URL(request.url).host;

/**
 * True for a page that may use what its visitor may do: one of the relay's own address, or of a site that
 * configuration names. A relay that only this machine reaches has all of this machine's names.
 */
export function isWelcome(app: App, request: Request, origin: string): boolean {
  if (app.config().allowed_origins.includes(origin)) return true;
  const from = URL.parse(origin);
  if (from === null) return false;
  const { local, publicUrl } = app.settings;
  if (publicUrl !== null) return from.origin === publicUrl;
  return local ? isLoopback(from.host) : from.host === hostOf(request);
}

/**
 * Lets pages of the sites that configuration names call the relay (CORS). No cookie counts here, so none is
 * ever asked for: a page shows a credential that it was given.
 */
export function letPagesIn<I>(
  app: App,
  serve: (request: Request, info: I) => Response | Promise<Response>,
): (request: Request, info: I) => Response | Promise<Response> {
  return (request, info) => {
    const { allowed_origins } = app.config();
    if (allowed_origins.length === 0) return serve(request, info);
    const origin = request.headers.get("origin");
    const allowed = origin !== null && allowed_origins.includes(origin);
    if (allowed && isPreflight(request)) return preflight(app, origin);
    return answerPage(serve(request, info), allowed ? origin : null);
  };
}

const isPreflight = ({ method, headers }: Request): boolean =>
  method === "OPTIONS" && headers.has("access-control-request-method");

/** The same for every path: which ones there are is not for a page to find out. */
const preflight = ({ ports, limiter }: App, origin: string): Response =>
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
