import { Fault } from "../../core/fault/fault.ts";
import { SCOPE_LIST } from "../../core/identity/identity.ts";
import { json } from "../../routes/http/answer.ts";
import type { Service, Visit } from "../../routes/http/serve_service.ts";

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/** The paths of the relay's own authorization server. */
export const OAUTH = {
  metadata: "/.well-known/oauth-authorization-server",
  /** A screen of the console, which asks the API itself. */
  authorization: "/console/authorize",
  token: "/oauth/token",
  registration: "/oauth/register",
  revocation: "/oauth/revoke",
} as const;

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

/** The metadata of the protected resources (RFC 9728), at the root for the first of them, and of the relay's own server. */
export function metadataServices(paths: readonly `/${string}`[]): Service[] {
  const at = (path: `/${string}`, metadata: (visit: Visit) => unknown): Service => ({
    path,
    methods: ["GET"],
    call: "rest",
    // Clients with an expired token look here.
    public: true,
    challenge,
    handle: (visit) => json(visit.envelope, 200, metadata(visit)),
  });
  return [
    at(WELL_KNOWN, (visit) => ofResource(visit, paths[0]!)),
    ...paths.map((path) => at(`${WELL_KNOWN}${path}`, (visit) => ofResource(visit, path))),
    at(OAUTH.metadata, ofServer),
  ];
}

/** Clients ask the first server that they know, so the issuers of the configuration come first. */
function ofResource({ relay, info: { origin } }: Visit, resource: string) {
  const { issuers, mcp_clients } = relay.config().auth;
  const servers = [...issuers.map(({ issuer }) => issuer), ...(mcp_clients ? [origin] : [])];
  return {
    resource: `${origin}${resource}`,
    resource_name: "Relay",
    resource_documentation: `${origin}/docs`,
    ...(servers.length > 0 && { authorization_servers: servers }),
    scopes_supported: SCOPE_LIST,
    bearer_methods_supported: ["header"],
  };
}

/** The metadata of the authorization server (RFC 8414). Its clients are public, so PKCE protects their codes. */
function ofServer({ relay, info: { origin } }: Visit) {
  if (!relay.config().auth.mcp_clients) throw new Fault("NOT_FOUND");
  return {
    issuer: origin,
    authorization_endpoint: `${origin}${OAUTH.authorization}`,
    token_endpoint: `${origin}${OAUTH.token}`,
    registration_endpoint: `${origin}${OAUTH.registration}`,
    revocation_endpoint: `${origin}${OAUTH.revocation}`,
    service_documentation: `${origin}/docs`,
    scopes_supported: SCOPE_LIST,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token"],
    token_endpoint_auth_methods_supported: ["none"],
    revocation_endpoint_auth_methods_supported: ["none"],
    code_challenge_methods_supported: ["S256"],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  };
}
