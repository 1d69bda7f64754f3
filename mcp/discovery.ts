import type { App } from "../core/work/work.ts";
import { SCOPE_LIST } from "../core/work/scopes.ts";
import { headersOf } from "../routes/call/answer.ts";
import type { Service, Visit } from "../routes/http/mount.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** Where the relay is, as far as it was told or the request says. */
const baseOf = ({ settings }: App, request: Request): string =>
  settings.publicUrl ?? new URL(request.url).origin;

/**
 * The challenge of a 401 or 403 (RFC 6750), with where the metadata is (RFC 9728) and every right that the
 * call needs.
 */
export function challenge(
  app: App,
  request: Request,
  more: { readonly error?: string; readonly scopes?: readonly string[] } = {},
): string {
  const { pathname } = new URL(request.url);
  const parts = [
    'realm="relay"',
    `resource_metadata="${baseOf(app, request)}${WELL_KNOWN}${pathname}"`,
    ...(more.error === undefined ? [] : [`error="${more.error}"`]),
    ...(more.scopes === undefined ? [] : [`scope="${more.scopes.join(" ")}"`]),
  ];
  return `Bearer ${parts.join(", ")}`;
}

/** The metadata of the protected resources (RFC 9728), at the root for the first of them. */
export function metadataServices(paths: readonly `/${string}`[]): Service[] {
  const at = (path: `/${string}`, resource: string): Service => ({
    path,
    methods: ["GET"],
    call: "rest",
    // Whoever looks here often has a token that has ended.
    public: true,
    challenge,
    handle: (visit) => metadata(visit, resource),
  });
  return [
    at(WELL_KNOWN, paths[0]!),
    ...paths.map((path) => at(`${WELL_KNOWN}${path}`, path)),
  ];
}

function metadata({ app, request, envelope }: Visit, resource: string): Response {
  const base = baseOf(app, request);
  const { issuers } = app.config().auth;
  const body = {
    resource: `${base}${resource}`,
    resource_name: "Relay",
    resource_documentation: `${base}/docs`,
    ...(issuers.length > 0 && { authorization_servers: issuers.map(({ issuer }) => issuer) }),
    scopes_supported: SCOPE_LIST,
    bearer_methods_supported: ["header"],
  };
  const headers = { ...headersOf(envelope), "content-type": "application/json" };
  return new Response(JSON.stringify(body), { headers });
}
