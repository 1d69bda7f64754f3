import { hash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { decodeJwt, errors, type JWTPayload, jwtVerify, type JWTVerifyGetKey } from "jose";
import { isWithin } from "../../../kv/store/clock.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { RecentMap } from "../../../kv/store/recent.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { users } from "../../../kv/records/user.ts";
import {
  canonicalEmail,
  type ForeignToken,
  type Scope,
  SCOPE_LIST,
} from "../../identity/identity.ts";
import type { Context, Issuer } from "../../context/context.ts";
import { Fault } from "../../fault/fault.ts";
import { IssuerKeys, KEYS_FRESH_MS } from "./keys.ts";

/** Other issuers' tokens may hold names and groups. */
const TOKEN_LENGTH_MAX = 16 * 1024;
/** The clocks of two machines differ slightly. */
const CLOCK_TOLERANCE_SECONDS = 5;
/** Asymmetric only: whoever can verify a token must not be able to make one. */
const ALGORITHMS = [
  ...["EdDSA", "Ed25519", "ES256", "ES384", "ES512"],
  ...["PS256", "PS384", "PS512", "RS256", "RS384", "RS512"],
];
/** Other kinds of JWT, such as one that ends a session, are no access tokens (RFC 9068, RFC 8725). */
const TYPES = new Set([undefined, "jwt", "at+jwt", "application/at+jwt"]);

/** Why a token of another issuer is refused, as `details.reason`. */
type Reason = "malformed" | "expired" | "signature" | "unknown_key" | "audience" | "unknown_user";

const MESSAGES: Readonly<Record<Reason, string>> = {
  malformed: "It lacks a claim that an access token must have.",
  expired: "It has expired or is not valid yet.",
  signature: "Its signature is invalid.",
  unknown_key: "It was signed with a key that its issuer does not publish.",
  audience: "It was issued for another server.",
  unknown_user:
    "It does not match a user: map its subject, or use a verified email that has an account.",
};

interface Checked {
  readonly token: ForeignToken;
  readonly checkedAtMs: number;
}

const CHECKED_MAX = 5_000;

/** Access tokens of the configured issuers. Checked tokens are remembered for as long as keys are fresh. */
export class ForeignTokens {
  readonly #checked = new RecentMap<Checked>(CHECKED_MAX);
  readonly #keys: IssuerKeys;

  constructor(private readonly parts: Pick<Context, "store" | "ports" | "config">) {
    this.#keys = new IssuerKeys(parts.ports);
  }

  /** The configured issuer that a token names, or null. Nothing of the token is verified yet. */
  issuerNamed(token: string): Issuer | null {
    const { issuers } = this.parts.config().auth;
    if (issuers.length === 0 || token.length > TOKEN_LENGTH_MAX) return null;
    try {
      const { iss } = decodeJwt(token);
      return issuers.find(({ issuer }) => issuer === iss) ?? null;
    } catch {
      return null;
    }
  }

  /** True while an issuer's configuration is unchanged. */
  isConfigured(issuer: Issuer): boolean {
    return this.parts.config().auth.issuers.some((each) => isDeepStrictEqual(each, issuer));
  }

  /**
   * Verifies another issuer's token. The person that it names may be gone.
   * @throws {Fault} INVALID_TOKEN with `details.reason`, UNAVAILABLE when its keys cannot be fetched
   */
  async read(issuer: Issuer, text: string): Promise<ForeignToken> {
    const now = this.parts.ports.clock.now();
    const name = hash("sha256", text); // tokens are long, and no secret is kept in memory
    const earlier = this.#checked.get(name);
    const good = earlier !== undefined && earlier.token.issuer === issuer &&
      now < earlier.token.expiresAtMs && isWithin(earlier.checkedAtMs, KEYS_FRESH_MS, now);
    if (good) return earlier.token;
    const token = tokenOf(issuer, await this.#verify(issuer, text));
    this.#checked.set(name, { token, checkedAtMs: now });
    return token;
  }

  /**
   * Verifies an ID token for the relay's client.
   * @throws {Fault} as `read`
   */
  async readIdToken(issuer: Issuer, clientId: string, text: string): Promise<ForeignToken> {
    return tokenOf(issuer, await this.#verify({ ...issuer, audience: clientId }, text));
  }

  /**
   * The user of a token: by the issuer's map of subjects, else by email; always of the issuer's
   * organization.
   * @throws {Fault} INVALID_TOKEN
   */
  async userOf(
    { issuer, subject, email }: ForeignToken,
  ): Promise<{ readonly org: string; readonly userId: string }> {
    const { store } = this.parts;
    const org = issuer.organization ??
      (await store.find(organizations, SYSTEM, "host", ["host"]))?.id;
    if (org === undefined) throw refused("unknown_user");
    const mapped = Object.hasOwn(issuer.subjects, subject) ? issuer.subjects[subject] : undefined;
    if (mapped !== undefined) return { org, userId: mapped };
    const found = email === null ? null : await store.lookup(users, "email", [email]);
    if (found === null || found.tenant.org !== org) throw refused("unknown_user");
    return { org, userId: found.record.id };
  }

  async #verify(issuer: Issuer, text: string): Promise<JWTPayload> {
    const nowMs = this.parts.ports.clock.now();
    try {
      return await verifyWith(issuer, text, await this.#keys.of(issuer), nowMs);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusalOf(error);
    }
    try {
      const keys = await this.#keys.of(issuer, { unknownKey: true });
      return await verifyWith(issuer, text, keys, nowMs);
    } catch (error) {
      throw refusalOf(error);
    }
  }
}

const tokenOf = (issuer: Issuer, claims: JWTPayload): ForeignToken => ({
  issuer,
  subject: claims.sub!,
  email: emailIn(claims, issuer),
  scopes: scopesIn(claims, issuer),
  expiresAtMs: claims.exp! * 1000,
});

async function verifyWith(issuer: Issuer, text: string, keys: JWTVerifyGetKey, nowMs: number) {
  const { payload, protectedHeader } = await jwtVerify(text, keys, {
    algorithms: ALGORITHMS,
    issuer: issuer.issuer,
    audience: issuer.audience,
    requiredClaims: ["sub", "exp"],
    clockTolerance: CLOCK_TOLERANCE_SECONDS,
    currentDate: new Date(nowMs),
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

/** Only an email that the issuer has verified counts. */
function emailIn(claims: JWTPayload, { claims: { email, email_verified } }: Issuer): string | null {
  const said = claims[email];
  return claims[email_verified] === true && typeof said === "string" ? canonicalEmail(said) : null;
}

/** The rights that a token names, separated by blanks or as a list; null for all rights of its person. */
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

const refused = (reason: Reason, cause?: unknown) =>
  new Fault(
    "INVALID_TOKEN",
    `The token is not accepted. ${MESSAGES[reason]}`,
    { reason },
    { cause },
  );
