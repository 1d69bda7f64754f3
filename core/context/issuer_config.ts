import { z } from "zod";

const HttpUrl = z.url({ protocol: /^https?$/ }).max(1024);
const Claim = z.string().min(1).max(128);

/** A server whose access tokens are accepted for people of one organization. */
export const Issuer = z.strictObject({
  issuer: HttpUrl.describe("the exact `iss` of its tokens"),
  audience: z.string().min(1).max(1024).describe("the `aud` of its tokens for this relay"),
  client_id: z.string().min(1).max(255).optional().describe(
    "the relay's client there, for browsers that sign in at the issuer",
  ),
  name: z.string().min(1).max(64).optional()
    .describe("its name where people sign in; the host of `issuer` by default"),
  jwks_uri: HttpUrl.optional().describe(
    "the address of its keys; by default from its metadata (OpenID Connect Discovery, RFC 8414)",
  ),
  organization: z.string().min(1).max(64).optional()
    .describe("the organization of its people; the host's by default"),
  claims: z.strictObject({
    email: Claim.default("email").describe("the claim that holds the email address"),
    email_verified: Claim.default("email_verified")
      .describe("the claim that says whether the address is verified"),
    scope: Claim.nullable().default("scope")
      .describe(
        "the claim that limits the rights of the token; null means every right of its person",
      ),
  }).prefault({}),
  subjects: z.record(z.string().min(1).max(255), z.string().min(1).max(64)).default({}).describe(
    'people by the token\'s `sub`, which takes precedence over its email: `{ "<sub>": "usr_…" }`',
  ),
});
export type Issuer = z.infer<typeof Issuer>;

/** The issuers whose tokens are accepted besides Relay's own, and whether Relay issues tokens to MCP clients. */
export const Auth = z.strictObject({
  issuers: z.array(Issuer).max(16).default([]).refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    "names an issuer twice",
  ).describe("servers whose access tokens are accepted besides Relay's own"),
  mcp_clients: z.boolean().default(true).describe(
    "whether people may let MCP clients act for them, with Relay as the authorization server",
  ),
}).prefault({});
