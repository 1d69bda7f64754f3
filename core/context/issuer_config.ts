import { z } from "zod";

const HttpUrl = z.url({ protocol: /^https?$/ }).max(1024);
const Claim = z.string().min(1).max(128);

/** A server whose access tokens are accepted for people of one organization. */
export const Issuer = z.strictObject({
  /** The exact `iss` of its tokens. */
  issuer: HttpUrl,
  /** The `aud` of its tokens for this relay. */
  audience: z.string().min(1).max(1024),
  /** The address of its keys; by default from its metadata (OpenID Connect Discovery, RFC 8414). */
  jwks_uri: HttpUrl.optional(),
  /** The organization of its people; the host's by default. */
  organization: z.string().min(1).max(64).optional(),
  /** The names of the claims that are read. */
  claims: z.strictObject({
    email: Claim.default("email"),
    email_verified: Claim.default("email_verified"),
    /** The claim that limits the rights of the token; `null` means every right of its person. */
    scope: Claim.nullable().default("scope"),
  }).prefault({}),
  /** People by the token's `sub`, which takes precedence over its email: `{ "<sub>": "usr_…" }`. */
  subjects: z.record(z.string().min(1).max(255), z.string().min(1).max(64)).default({}),
});
export type Issuer = z.infer<typeof Issuer>;

/** The issuers whose tokens are accepted beside Relay's own. */
export const Auth = z.strictObject({
  issuers: z.array(Issuer).max(16).default([]).refine(
    (issuers) => new Set(issuers.map(({ issuer }) => issuer)).size === issuers.length,
    "names an issuer twice",
  ),
}).prefault({});
