import { z } from "zod";

const HttpUrl = z.url({ protocol: /^https?$/ }).max(1024);
const Claim = z.string().min(1).max(128);

/** A server whose access tokens are taken here, for people of one organization. */
export const Issuer = z.strictObject({
  /** The `iss` of its tokens, to the letter. */
  issuer: HttpUrl,
  /** The `aud` that its tokens for this relay have. */
  audience: z.string().min(1).max(1024),
  /** Where its keys are; without it, its metadata says so (OpenID Connect Discovery, RFC 8414). */
  jwks_uri: HttpUrl.optional(),
  /** The organization whose people it speaks for: the host's, unless said. */
  organization: z.string().min(1).max(64).optional(),
  /** Where its tokens say what is needed. */
  claims: z.strictObject({
    email: Claim.default("email"),
    email_verified: Claim.default("email_verified"),
    /** Rights of the token, beside those of its person; `null`: all that the person has. */
    scope: Claim.nullable().default("scope"),
  }).prefault({}),
  /** People by the token's `sub`, which goes before its email: `{ "<sub>": "usr_…" }`. */
  subjects: z.record(z.string().min(1).max(255), z.string().min(1).max(64)).default({}),
});
export type Issuer = z.infer<typeof Issuer>;

/** Whose tokens are taken beside Relay's own. */
export const Auth = z.strictObject({
  issuers: z.array(Issuer).max(16).default([]).refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    "names an issuer twice",
  ),
}).prefault({});
