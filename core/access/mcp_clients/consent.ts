import { mcpGrants, sessions, users } from "../../../kv/records/user.ts";
import { Fault } from "../../fault/fault.ts";
import { type Scope, SCOPE_LIST } from "../../identity/identity.ts";
import type { Stepping, Work } from "../../work/work.ts";
import { mustActForPerson, mustBeSignedIn } from "../people/person.ts";
import { homeOf } from "../roles/grant.ts";
import { grantCredential, makeRefreshSecret } from "../sign_in/refresh_token.ts";
import { LETS_NONE_IN, type McpClients } from "./clients.ts";
import { endSurplusGrants, noteGrant } from "./grants.ts";
import { isRegistered, withQuery } from "./redirects.ts";

/** The paths of the MCP addresses, for which tokens are issued. */
export const MCP_RESOURCES = ["/mcp", "/mcp/stream"] as const;

/** How long a code can be exchanged. */
const CODE_TTL_MS = 60_000;

/** What a client asks for, in the names of OAuth. Other fields of a request are checked by its schema. */
interface Request {
  readonly client_id: string;
  readonly redirect_uri: string;
  /** SHA-256 of the verifier, base64url (RFC 7636). */
  readonly code_challenge: string;
  readonly state?: string | undefined;
  /** Rights, separated by spaces; all when absent. Unknown ones are left out. */
  readonly scope?: string | undefined;
  /** The MCP address (RFC 8707); `/mcp` of this relay when absent. */
  readonly resource?: string | undefined;
}

type Clients = Pick<McpClients, "find">;

/** What a client asks for, for the person who decides. @throws {Fault} as `decideConsent` */
export async function readConsent(work: Work, clients: Clients, request: Request) {
  mustBeSignedIn(work.actor);
  mustActForPerson(work.actor);
  const { client, redirectUri, scopes, resource } = await check(work, clients, request);
  return {
    name: client.name,
    client_host: client.host,
    redirect_uri: redirectUri,
    resource: `${work.request.origin}${resource}`,
    scopes,
  };
}

/**
 * Decides as the caller, and answers where the browser goes: with a code for the client after an approval.
 * @throws {Fault} FORBIDDEN for anybody but a signed-in user, VALIDATION_FAILED, UNAVAILABLE
 */
export async function decideConsent(
  work: Stepping,
  clients: Clients,
  { approve, space, ...request }: Request & {
    readonly approve: boolean;
    /** The rights that the person chose; all that the client asks for when absent. */
    readonly scopes?: readonly Scope[] | undefined;
    readonly space: "live" | "test";
  },
) {
  const { actor, store, ports: { clock, entropy }, sealer } = work;
  mustBeSignedIn(actor);
  mustActForPerson(actor);
  const { client, redirectUri, scopes: asked, resource } = await check(work, clients, request);
  const scopes = request.scopes ?? asked;
  if (!scopes.every((scope) => asked.includes(scope))) {
    throw invalid("scopes", "must be among the scopes that the client asks for");
  }
  const home = homeOf(actor.tenant.org);
  const answer = { state: request.state, iss: work.request.origin };
  const by = { user_id: actor.userId, client_name: client.name };
  if (!approve) {
    await store.transact(async (tx) =>
      noteGrant(work, tx, home, by, "mcp_client_refused", { redirect_uri: redirectUri })
    );
    return { redirect_to: withQuery(redirectUri, { error: "access_denied", ...answer }) };
  }
  const id = entropy.id("mcg");
  const nowMs = clock.now();
  const expires_at_ms = nowMs + CODE_TTL_MS;
  const grant = await store.transact(async (tx) => {
    const session = await tx.get(sessions, home, actor.sessionId);
    const user = await tx.get(users, home, actor.userId);
    if (session === null || session.epoch !== user?.session_epoch) {
      throw new Fault("FORBIDDEN", "Your session has ended.");
    }
    await endSurplusGrants(work, tx, home, actor.userId);
    const { epoch, second_factor, issuer } = session;
    const grant = tx.insert(mcpGrants, home, {
      id,
      ...by,
      epoch,
      second_factor,
      ...(issuer !== undefined && { issuer }),
      client_id: client.id,
      redirect_uri: redirectUri,
      resource,
      scopes: [...scopes],
      space,
      address: work.request.address,
      created_at_ms: nowMs,
      expires_at_ms,
      challenge: request.code_challenge,
      sealed_refresh_secret: makeRefreshSecret(work, id),
      refresh_count: 0,
      refreshed_at_ms: [],
    });
    noteGrant(work, tx, home, grant, "mcp_client_approved", {
      client_id: client.id,
      redirect_uri: redirectUri,
      scopes: [...scopes],
      space,
    });
    return grant;
  });
  const code = grantCredential(sealer, "rac", home.org, grant, expires_at_ms);
  return { redirect_to: withQuery(redirectUri, { code, ...answer }) };
}

/** Checks what a client asks for; nothing is sent to an address that is not the client's. */
async function check(
  { actor, request: { origin }, config }: Work,
  clients: Clients,
  asked: Request,
) {
  if (!config().auth.mcp_clients) throw new Fault("FORBIDDEN", LETS_NONE_IN);
  const client = await clients.find(asked.client_id, actor.tenant.org);
  if (!isRegistered(client.redirectUris, asked.redirect_uri)) {
    throw invalid("redirect_uri", "must be an address that the client has registered");
  }
  const resource = MCP_RESOURCES.find((path) => isAt(asked.resource, origin, path));
  if (resource === undefined) throw invalid("resource", "must be an MCP address of this relay");
  const names = new Set(asked.scope?.split(" ") ?? SCOPE_LIST);
  const scopes = SCOPE_LIST.filter((scope) => names.has(scope));
  if (scopes.length === 0) throw invalid("scope", "must name a right of this relay");
  return { client, redirectUri: asked.redirect_uri, scopes, resource };
}

/** True for the address of a path. Its query chooses tools, and does not matter here. */
export function isAt(address: string | undefined, origin: string, path: string): boolean {
  if (address === undefined) return path === MCP_RESOURCES[0];
  const url = URL.parse(address);
  return url?.origin === origin && url.pathname === path && url.hash === "";
}

const invalid = (field: keyof Request | "scopes", message: string) =>
  new Fault("VALIDATION_FAILED", `The client's request is not valid: ${field} ${message}.`, {
    issues: [{ path: `body.${field}`, message }],
  });
