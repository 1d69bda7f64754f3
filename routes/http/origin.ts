import type { App } from "../../core/work/work.ts";
import { Fault } from "../../core/fault/fault.ts";
import { failure, headersOf } from "../call/answer.ts";

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

/** Characters of a header that a refusal repeats. */
const QUOTED_CHARS_MAX = 200;
const METHODS = "GET, POST, PUT, PATCH, DELETE";
const PREFLIGHT_SECONDS = 600;

/** The host that a request asks for, as it says. */
const hostOf = (request: Request): string =>
  request.headers.get("host") ?? new URL(request.url).host;

/**
 * True for a page that may use what its visitor may do: one of the relay's own address, or of a site that
 * configuration names. A local relay answers to every loopback name, so only the port must be the same.
 */
export function isWelcome(app: App, request: Request, origin: string): boolean {
  if (app.config().allowed_origins.includes(origin)) return true;
  const from = URL.parse(origin);
  if (from === null) return false;
  const { local, publicUrl } = app.settings;
  if (publicUrl !== null) return from.origin === publicUrl;
  const host = hostOf(request);
  return from.host === host ||
    local && LOOPBACK.test(from.host) && portIn(from.host) === portIn(host);
}

const portIn = (host: string): string => /:(\d+)$/.exec(host)?.[1] ?? "";

/**
 * Keeps pages of other sites away from a relay that only this machine reaches. Nothing else does: such a
 * relay is claimed by the first signup, and a browser on the machine sends what any page tells it to. A
 * foreign Host is how a page whose name was pointed at this machine (DNS rebinding) shows itself.
 */
export function keepPagesOut<I>(
  app: App,
  serve: (request: Request, info: I) => Response | Promise<Response>,
): (request: Request, info: I) => Response | Promise<Response> {
  return (request, info) => {
    const why = app.settings.local ? foreignTo(app, request) : null;
    if (why === null) return serve(request, info);
    app.metrics.request("unknown", 403, 0);
    const requestId = app.ports.entropy.uuid();
    return failure({ requestId, limit: app.limiter.unlimited() }, new Fault("FORBIDDEN", why));
  };
}

/** Why a local relay does not answer this request, or null. */
function foreignTo(app: App, request: Request): string | null {
  const { headers, method } = request;
  const host = hostOf(request);
  if (!LOOPBACK.test(host)) {
    return `This server answers only to names of this machine, such as localhost, not to ` +
      `${quoted(host)}. To serve it under another name, set RELAY_PUBLIC_URL.`;
  }
  const origin = headers.get("origin");
  if (origin !== null) {
    return isWelcome(app, request, origin)
      ? null
      : `A page of ${
        quoted(origin)
      } may not call this server: name it in \`allowed_origins\`, or ` +
        "set RELAY_PUBLIC_URL if the page is this server's own.";
  }
  // A link to a page, and the way back from an OAuth provider, are navigations: they change nothing.
  const followed = method === "GET" && headers.get("sec-fetch-mode") === "navigate";
  return headers.get("sec-fetch-site") !== "cross-site" || followed
    ? null
    : "A page of another site may not call this server: name its origin in `allowed_origins`.";
}

const quoted = (text: string): string => JSON.stringify(text.slice(0, QUOTED_CHARS_MAX));

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
