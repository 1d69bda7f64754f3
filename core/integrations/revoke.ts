import type { Tenant } from "../../kv/store/collection.ts";
import type { IntegrationRecord } from "../../kv/records/integration.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { serviceOf } from "./catalog.ts";
import { createJob } from "./stage_job.ts";
import { configOf, oauthClientOf } from "./installed.ts";
import { type Tokens, tokensOf } from "./oauth/tokens.ts";
import type { OauthClient, ServiceRequest } from "./service.ts";
import { basic } from "./services/fields.ts";

/** Puts on record what revokes the tokens of an integration that goes; answers how many requests it takes. */
export function stageRevocations(
  app: App,
  tx: Tx,
  tenant: Tenant,
  record: IntegrationRecord,
): number {
  const requests = revocationsOf(app, record);
  for (const request of requests) createJob(app, tx, tenant, record, request);
  return requests.length;
}

/** Only tokens that Relay got by OAuth: one that somebody pasted may be in use elsewhere. */
function revocationsOf(app: App, record: IntegrationRecord): ServiceRequest[] {
  const tokens = tokensOf(app, record);
  if (tokens === null) return [];
  const own = serviceOf(record).revoke?.(configOf(app, record), tokens.access_token) ?? null;
  if (own !== null) return [own];
  const client = oauthClientOf(app, record);
  const endpoint = record.provider?.revocation_endpoint;
  if (client === null || endpoint === undefined) return [];
  return kindsOf(tokens).map(([hint, token]) => revocation(endpoint, client, token, hint));
}

/** The refresh token first: with it the provider may end everything that came of it. */
const kindsOf = ({ refresh_token, access_token }: Tokens) => [
  ...(refresh_token === null ? [] : [["refresh_token", refresh_token] as const]),
  ["access_token", access_token] as const,
];

/** The request of RFC 7009, kept whole because nobody knows the integration any more when it is sent. */
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
    headers.authorization = basic(formEncoded(clientId), formEncoded(clientSecret));
  }
  return { method: "POST", url, headers, body: form.toString() };
}

/** As RFC 6749, section 2.3.1, has both parts of the header. */
const formEncoded = (text: string): string => new URLSearchParams([["", text]]).toString().slice(1);
