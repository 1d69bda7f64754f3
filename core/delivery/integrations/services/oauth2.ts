import { z } from "zod";
import { service } from "../service.ts";
import { Address, SecretText, Short } from "./fields.ts";

/** Any provider of OAuth 2 or OpenID Connect. */
export const oauth2 = service({
  name: "OAuth 2 / OpenID Connect",
  description: "Refreshes the tokens of any OAuth 2 provider and supplies them for repositories.",
  category: "generic",
  config: z.strictObject({
    issuer: Address.optional().describe("The issuer, whose metadata gives the endpoints."),
    authorization_endpoint: Address.optional(),
    token_endpoint: Address.optional(),
    revocation_endpoint: Address.optional(),
    client_id: Short,
    client_secret: SecretText.optional().describe(
      "The client's secret; absent for a public client.",
    ),
    authentication: z.enum(["client_secret_basic", "client_secret_post"])
      .default("client_secret_basic"),
    scopes: z.array(z.string().regex(/^[\x21\x23-\x5b\x5d-\x7e]{1,200}$/)).max(50).default([]),
    prompt: z.enum(["none", "login", "consent", "select_account"]).optional()
      .describe("The value of `prompt`, such as `consent` for offline access."),
    repository_host: z.string().regex(/^[\w.-]+(:\d{1,5})?$/).max(255).toLowerCase().optional()
      .describe("The Git server that accepts the access token as a password."),
    repository_username: Short.default("oauth2"),
  }).refine(
    ({ issuer, authorization_endpoint, token_endpoint }) =>
      issuer !== undefined || authorization_endpoint !== undefined && token_endpoint !== undefined,
    "give the issuer, or the authorization_endpoint and the token_endpoint",
  ).refine(
    ({ authorization_endpoint, token_endpoint }) =>
      (authorization_endpoint === undefined) === (token_endpoint === undefined),
    "authorization_endpoint and token_endpoint go together",
  ),
  secrets: ["client_secret"],
  oauth: (config) => {
    const { authorization_endpoint: authorization, token_endpoint: token } = config;
    const endpoints = authorization === undefined || token === undefined
      ? null
      : { authorization, token, revocation: config.revocation_endpoint };
    return {
      issuer: config.issuer ?? new URL(authorization!).origin,
      endpoints,
      clientId: config.client_id,
      clientSecret: config.client_secret ?? null,
      authentication: config.authentication,
      scopes: config.scopes,
      ...(config.prompt && { parameters: { prompt: config.prompt } }),
    };
  },
  repository: ({ repository_host, repository_username }) =>
    repository_host === undefined
      ? null
      : { host: repository_host, username: repository_username, password: null },
});
