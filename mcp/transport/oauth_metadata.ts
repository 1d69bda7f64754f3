import { SCOPE_LIST } from "../../core/identity/identity.ts";
import { headersOf } from "../../routes/http/answer.ts";
import type { Service, Visit } from "../../routes/http/serve_service.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The settings that name the relay's address. */
interface Address {
  readonly settings: { readonly publicUrl: string | null };
}

/** The relay's address: the configured one, or the one that the request used. */
const baseOf = ({ settings }: Address, request: Request): string =>
  settings.publicUrl ?? new URL(request.url).origin;

/**
 * The challenge of a 401 or 403 (RFC 6750), with the address of the metadata (RFC 9728) and the rights that
 * the call needs.
 */
export function challenge(
  address: Address,
  request: Request,
  more: { readonly error?: string; readonly scopes?: readonly string[] } = {},
): string {
  const { pathname } = new URL(request.url);
  const parts = [
    'realm="relay"',
    `resource_metadata="${baseOf(address, request)}${WELL_KNOWN}${pathname}"`,
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
    // Clients with an expired token look here.
    public: true,
    challenge,
    handle: (visit) => metadata(visit, resource),
  });
  return [
    at(WELL_KNOWN, paths[0]!),
    ...paths.map((path) => at(`${WELL_KNOWN}${path}`, path)),
  ];
}

function metadata({ relay, request, envelope }: Visit, resource: string): Response {
  const base = baseOf(relay, request);
  const { issuers } = relay.config().auth;
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
