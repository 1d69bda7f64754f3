import { hash } from "node:crypto";
import { organizations } from "../../../kv/records/organization.ts";
import { type McpGrantRecord, mcpGrants, users } from "../../../kv/records/user.ts";
import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { Fault } from "../../fault/fault.ts";
import { notifyPerson } from "../people/notify.ts";
import { homeOf } from "../roles/grant.ts";
import { mayRepeat, rotated } from "../sign_in/refresh.ts";
import {
  type GrantCredential,
  grantCredential,
  isDerived,
  parseGrantCredential,
} from "../sign_in/refresh_token.ts";
import { LETS_NONE_IN } from "./clients.ts";
import { isAt } from "./consent.ts";
import { type ByClient, endGrant, noteGrant } from "./grants.ts";

/**
 * The token endpoint of MCP clients. Each step is one transaction on the grant, so a code is exchanged once, at any
 * instance. A code or a refresh token that is presented again ends the grant, because two parties hold it. Faults carry
 * the error of OAuth as `details.reason`.
 */

/** How long an access token is valid. */
const ACCESS_TTL_MS = 15 * 60 * 1000;

/** The fields of a token request, as they were sent. */
export type Form = Readonly<Record<string, string | undefined>>;

/** The grant types, each with its kind of credential and the field that holds it. */
const GRANT_TYPES = new Map<string, readonly [kind: GrantCredential["kind"], field: string]>([
  ["authorization_code", ["code", "code"]],
  ["refresh_token", ["refresh", "refresh_token"]],
]);

/** Exchanges a code, or the newest refresh token, for tokens. @throws {Fault} VALIDATION_FAILED */
export async function issueMcpTokens(parts: ByClient, form: Form) {
  if (!parts.config().auth.mcp_clients) throw refusal("invalid_grant", LETS_NONE_IN);
  const [kind, field] = GRANT_TYPES.get(fieldOf(form, "grant_type")) ?? [];
  if (field === undefined) {
    const message = "`grant_type` must be authorization_code or refresh_token.";
    throw refusal("unsupported_grant_type", message);
  }
  const credential = parseGrantCredential(fieldOf(form, field));
  if (credential === null || credential.kind !== kind) throw refusal("invalid_grant", UNKNOWN);
  const home = homeOf(credential.org);
  const taken = await parts.store.transact(async (tx) => {
    const grant = await grantOf(parts, tx, home, credential, form);
    return kind === "code"
      ? takeCode(parts, tx, home, grant, form)
      : await takeRefreshToken(parts, tx, home, grant, credential);
  });
  if (taken === null) throw refusal("invalid_grant", REUSED);
  return tokensOf(parts, home, taken.grant, taken.number);
}

/** Ends a client by one of its tokens (RFC 7009). Unknown tokens have ended already. @throws {Fault} VALIDATION_FAILED */
export async function revokeMcpToken(parts: ByClient, form: Form): Promise<void> {
  const credential = parseGrantCredential(fieldOf(form, "token"));
  const client_id = fieldOf(form, "client_id");
  if (credential === null || credential.kind === "code") return;
  const home = homeOf(credential.org);
  await parts.store.transact(async (tx) => {
    const grant = await tx.get(mcpGrants, home, credential.grantId);
    if (grant === null || !isDerived(parts.sealer, grant, credential.text)) return;
    if (grant.client_id !== client_id) throw refusal("invalid_grant", WRONG_CLIENT);
    endGrant(parts, tx, home, grant, "by_client");
  });
}

/** The grant of a credential, for its own client and while its person may use it. */
async function grantOf(
  { sealer, request }: ByClient,
  tx: Tx,
  home: Tenant,
  { grantId, text }: GrantCredential,
  form: Form,
): Promise<McpGrantRecord> {
  const client_id = fieldOf(form, "client_id");
  const grant = await tx.get(mcpGrants, home, grantId);
  if (grant === null || !isDerived(sealer, grant, text)) throw refusal("invalid_grant", UNKNOWN);
  if (grant.client_id !== client_id) throw refusal("invalid_grant", WRONG_CLIENT);
  const isOther = form.resource !== undefined &&
    !isAt(form.resource, request.origin, grant.resource);
  if (isOther) throw refusal("invalid_target", "`resource` must be the address of the consent.");
  const user = await tx.get(users, home, grant.user_id);
  const organization = await tx.get(organizations, SYSTEM, home.org);
  const counts = user?.active && organization?.active && user.session_epoch === grant.epoch;
  if (counts) return grant;
  throw refusal("invalid_grant", "The person is not active, or changed their password.");
}

/** The grant with its code used; null for a code that was used before, which ends the grant. */
function takeCode(
  parts: ByClient,
  tx: Tx,
  home: Tenant,
  grant: McpGrantRecord,
  form: Form,
) {
  if (grant.challenge === null) {
    endGrant(parts, tx, home, grant, "code_reused");
    return null;
  }
  if (fieldOf(form, "redirect_uri") !== grant.redirect_uri) {
    throw refusal("invalid_grant", "`redirect_uri` must be that of the authorization request.");
  }
  const verifier = fieldOf(form, "code_verifier");
  const isVerifier = /^[A-Za-z0-9._~-]{43,128}$/.test(verifier);
  if (!isVerifier || hash("sha256", verifier, "base64url") !== grant.challenge) {
    throw refusal("invalid_grant", "`code_verifier` does not match the code's challenge.");
  }
  const next = rotated(grant, parts.ports.clock.now());
  const used = tx.put(mcpGrants, home, { ...next, challenge: null });
  noteGrant(parts, tx, home, used, "mcp_client_connected", {});
  return { grant: used, number: used.refresh_count };
}

/** The grant with the number of its next refresh token; null for one that was used long ago, which ends the grant. */
async function takeRefreshToken(
  parts: ByClient,
  tx: Tx,
  home: Tenant,
  grant: McpGrantRecord,
  { number }: GrantCredential,
) {
  const nowMs = parts.ports.clock.now();
  // A restored backup does not know the newest token yet, which nobody stole.
  if (number > grant.refresh_count) throw refusal("invalid_grant", UNKNOWN);
  if (number === grant.refresh_count) {
    const next = tx.put(mcpGrants, home, rotated(grant, nowMs));
    noteGrant(parts, tx, home, next, "mcp_client_refreshed", {});
    return { grant: next, number: next.refresh_count };
  }
  if (mayRepeat(grant, number, nowMs)) return { grant, number: number + 1 };
  endGrant(parts, tx, home, grant, "refresh_token_reused");
  const resource = { type: "mcp_grant", id: grant.id };
  const details = { address: parts.request.address };
  const notice = { type: "refresh_token_reused", resource, details } as const;
  await notifyPerson(parts, tx, home, notice, grant.user_id);
  return null;
}

/** The answer of the token endpoint (RFC 6749, section 5.1). */
function tokensOf(
  { ports, sealer }: ByClient,
  { org }: Tenant,
  grant: McpGrantRecord,
  number: number,
) {
  const nowMs = ports.clock.now();
  const endsAtMs = Math.min(nowMs + ACCESS_TTL_MS, grant.expires_at_ms);
  return {
    access_token: grantCredential(sealer, "rat", org, grant, endsAtMs),
    token_type: "Bearer",
    expires_in: Math.floor((endsAtMs - nowMs) / 1000),
    refresh_token: grantCredential(sealer, "rar", org, grant, number),
    scope: grant.scopes.join(" "),
  };
}

/** A field that must be there. */
function fieldOf(form: Form, name: string): string {
  const value = form[name];
  if (value === undefined) throw refusal("invalid_request", `\`${name}\` is missing.`);
  return value;
}

const UNKNOWN = "The code or the token is unknown, or has ended.";
const WRONG_CLIENT = "It was issued to another client.";
const REUSED = "It was already used, so the client was ended. Ask for consent again.";

type Reason =
  | "invalid_request"
  | "invalid_grant"
  | "invalid_target"
  | "unsupported_grant_type";

const refusal = (reason: Reason, message: string) =>
  new Fault("VALIDATION_FAILED", message, { reason });
