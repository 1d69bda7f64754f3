import { isDeepStrictEqual } from "node:util";
import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from "jose";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { users } from "../../../kv/records/user.ts";
import type { App, ForeignToken } from "../../work/work.ts";
import { Fault } from "../../fault/fault.ts";
import { type Scope, SCOPE_LIST } from "../../work/scopes.ts";
import { canonicalEmail, sha256Hex } from "../../codec/text.ts";
import type { Issuer } from "../../work/issuer_config.ts";
import { KEYS_FRESH_MS, keysOf } from "./keys.ts";

/** Tokens of others hold names, groups and more. */
const TOKEN_LENGTH_MAX = 16 * 1024;
/** Clocks of two machines differ by a moment. */
const CLOCK_TOLERANCE_SECONDS = 5;
/** Nothing that whoever checks a token could have made it with. */
const ALGORITHMS = [
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512"],
  ...["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"],
];
/** Other kinds of JWT, such as one that ends a session, are no access tokens (RFC 9068, RFC 8725). */
const TYPES = new Set([undefined, "jwt", "at+jwt", "application/at+jwt"]);

/** Why a token of another issuer is refused, as `details.reason`. */
type Reason = "malformed" | "expired" | "signature" | "unknown_key" | "audience" | "unknown_user";

const MESSAGES: Readonly<Record<Reason, string>> = {
  malformed: "It lacks what an access token must have.",
  expired: "It has expired, or is not good yet.",
  signature: "Its signature does not fit.",
  unknown_key: "It was signed with a key that its issuer does not publish.",
  audience: "It was issued for another server.",
  unknown_user: "It names nobody here: its subject must be mapped, or its verified email known.",
};

interface Checked {
  readonly token: ForeignToken;
  readonly checkedAtMs: number;
}

const checkedTokens = new WeakMap<App, RecentMap<Checked>>();
const CHECKED_MAX = 5_000;

/** The configured issuer that a token says it is from, or null. Nothing of the token is checked yet. */
export function issuerNamed(app: App, token: string): Issuer | null {
  const { issuers } = app.config().auth;
  if (issuers.length === 0 || token.length > TOKEN_LENGTH_MAX) return null;
  try {
    const { iss } = decodeJwt(token);
    return issuers.find(({ issuer }) => issuer === iss) ?? null;
  } catch {
    return null;
  }
}

/** True when an issuer is still configured, word for word. */
export const isConfigured = (app: App, issuer: Issuer): boolean =>
  app.config().auth.issuers.some((each) => isDeepStrictEqual(each, issuer));

/**
 * Checks a token of another issuer; the answer names its person, who may be gone since.
 * @throws {Fault} INVALID_TOKEN with `details.reason`, UNAVAILABLE when its keys cannot be had
 */
export async function readForeignToken(
  app: App,
  issuer: Issuer,
  text: string,
): Promise<ForeignToken> {
  let checked = checkedTokens.get(app);
  if (checked === undefined) checkedTokens.set(app, checked = new RecentMap(CHECKED_MAX));
  const now = app.ports.clock.now();
  const name = sha256Hex(text); // tokens are long, and what is no longer needed stays in no map
  const earlier = checked.get(name);
  const good = earlier !== undefined && earlier.token.issuer === issuer &&
    now < earlier.token.expiresAtMs && Math.abs(now - earlier.checkedAtMs) < KEYS_FRESH_MS;
  if (good) return earlier.token;
  const claims = await verify(app, issuer, text);
  const token: ForeignToken = {
    issuer,
    subject: claims.sub!,
    email: emailIn(claims, issuer),
    scopes: scopesIn(claims, issuer),
    expiresAtMs: claims.exp! * 1000,
  };
  checked.set(name, { token, checkedAtMs: now });
  return token;
}

async function verify(app: App, issuer: Issuer, text: string): Promise<JWTPayload> {
  try {
    return await verifyWith(app, issuer, text, await keysOf(app, issuer));
  } catch (error) {
    if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusalOf(error);
  }
  try {
    return await verifyWith(app, issuer, text, await keysOf(app, issuer, { unknownKey: true }));
  } catch (error) {
    throw refusalOf(error);
  }
}

async function verifyWith(app: App, issuer: Issuer, text: string, keys: JWTVerifyGetKey) {
  const { payload, protectedHeader } = await jwtVerify(text, keys, {
    algorithms: ALGORITHMS,
    issuer: issuer.issuer,
    audience: issuer.audience,
    requiredClaims: ["sub", "exp"],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(app.ports.clock.now()),
  });
  const isAccessToken = TYPES.has(protectedHeader.typ?.toLowerCase());
  if (!isAccessToken || typeof payload.sub !== "string") throw refused("malformed");
  return payload;
}

function refusalOf(error: unknown): unknown {
  return error instanceof errors.JOSEError ? refused(reasonOf(error), error) : error;
}

function reasonOf(error: errors.JOSEError): Reason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  if (error instanceof errors.JWKSNoMatchingKey) return "unknown_key";
  if (!(error instanceof errors.JWTClaimValidationFailed)) return "malformed";
  return { aud: "audience", nbf: "expired" }[error.claim] as Reason ?? "malformed";
}

/** An email counts when its issuer says that it has seen its owner read it. */
function emailIn(claims: JWTPayload, { claims: { email, email_verified } }: Issuer): string | null {
  const said = claims[email];
  return claims[email_verified] === true && typeof said === "string" ? canonicalEmail(said) : null;
}

/** The rights that a token carries, as text with blanks or as a list; null for all its person has. */
function scopesIn(claims: JWTPayload, { claims: { scope } }: Issuer): ReadonlySet<Scope> | null {
  if (scope === null) return null;
  const said = claims[scope];
  const names: readonly unknown[] = typeof said === "string"
    ? said.split(" ")
    : Array.isArray(said)
    ? said
    : [];
  return new Set(SCOPE_LIST.filter((known) => names.includes(known)));
}

/**
 * The person of a token: as its issuer's map of subjects says, else by email; always one of the issuer's
 * organization.
 * @throws {Fault} INVALID_TOKEN
 */
export async function personOf(
  { store }: App,
  { issuer, subject, email }: ForeignToken,
): Promise<{ readonly org: string; readonly userId: string }> {
  const org = issuer.organization ??
    (await store.find(organizations, SYSTEM, "host", ["host"]))?.id;
  if (org === undefined) throw refused("unknown_user");
  const mapped = Object.hasOwn(issuer.subjects, subject) ? issuer.subjects[subject] : undefined;
  if (mapped !== undefined) return { org, userId: mapped };
  const found = email === null ? null : await store.lookup(users, "email", [email]);
  if (found === null || found.tenant.org !== org) throw refused("unknown_user");
  return { org, userId: found.record.id };
}

const refused = (reason: Reason, cause?: unknown) =>
  new Fault(
    "INVALID_TOKEN",
    `The token is not accepted. ${MESSAGES[reason]}`,
    { reason },
    { cause },
  );
