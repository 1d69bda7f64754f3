import type { Tenant } from "../../../kv/store/collection.ts";
import type { IntegrationRecord } from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { serviceOf } from "./catalog.ts";
import { type Tokens, tokensOf } from "./oauth/tokens.ts";
import { configOf, oauthClientOf } from "./record.ts";
import type { OauthClient, ServiceRequest } from "./service.ts";
import { stageJob } from "./stage_job.ts";
import { basicAuth } from "../../codec/codec.ts";

/** Stages the requests that revoke the tokens of a removed integration; returns how many. */
export function stageRevocations(
  context: Pick<Context, "ports" | "sealer" | "signals">,
  tx: Tx,
  tenant: Tenant,
  record: IntegrationRecord,
): number {
  const requests = revocationsOf(context, record);
  for (const request of requests) stageJob(context, tx, tenant, record, request);
  return requests.length;
}

/** Only tokens obtained by OAuth are revoked: a pasted token may be in use elsewhere. */
function revocationsOf(
  context: Pick<Context, "sealer">,
  record: IntegrationRecord,
): ServiceRequest[] {
  const tokens = tokensOf(context, record);
  if (tokens === null) return [];
  const own = serviceOf(record).revoke?.(configOf(context, record), tokens.access_token) ?? null;
  if (own !== null) return [own];
  const client = oauthClientOf(context, record);
  const endpoint = record.provider?.revocation_endpoint;
  if (client === null || endpoint === undefined) return [];
  return byHint(tokens).map(([hint, token]) => revocation(endpoint, client, token, hint));
}

/** The tokens by RFC 7009 hint. Revoking the refresh token first may also revoke its access tokens. */
const byHint = ({ refresh_token, access_token }: Tokens) => [
  ...(refresh_token === null ? [] : [["refresh_token", refresh_token] as const]),
  ["access_token", access_token] as const,
];

/** The request of RFC 7009, stored whole because the integration no longer exists when it is sent. */
function revocation(
  url: string,
  { clientId, clientSecret, authentication }: OauthClient,
  token: string,
  hint: string,
): ServiceRequest {
  const form = new URLSearchParams({ token, token_type_hint: hint });
  const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded" };
  if (clientSecret === null) form.set("client_id", clientId);
  else if (authentication === "client_secret_post") {
    form.set("client_id", clientId);
    form.set("client_secret", clientSecret);
  } else {
    headers.authorization = basicAuth(formEncoded(clientId), formEncoded(clientSecret));
  }
  return { method: "POST", url, headers, body: form.toString() };
}

/** Encodes both parts of the header as RFC 6749, section 2.3.1, requires. */
const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
