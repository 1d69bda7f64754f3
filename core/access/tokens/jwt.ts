import {
  calculateJwkThumbprint,
  type CryptoKey,
  errors,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  jwtVerify,
  SignJWT,
} from "jose";
import { RecentMap } from "../../../kv/store/recent.ts";
import { Fault } from "../../fault/fault.ts";

/** A JSON Web Key, RFC 7517. */
export type Jwk = Readonly<Record<string, unknown>>;

/** A public key that verifies tokens; `kid` is its RFC 7638 thumbprint. */
export interface VerificationKey {
  readonly kid: string;
  readonly publicJwk: Jwk;
}

/** A key pair that signs tokens. */
export interface SigningKey extends VerificationKey {
  readonly privateJwk: Jwk;
}

/** The claims of a token; `iat` and `exp` are seconds since the Unix epoch. */
export interface Claims {
  /** The user. */
  readonly sub: string;
  /** The organization. */
  readonly org: string;
  /** The session. */
  readonly sid: string;
  readonly iat: number;
  readonly exp: number;
  /** This token. */
  readonly jti: string;
}

/** Why a token is refused, as `details.reason`. */
export type TokenFaultReason =
  | "malformed"
  | "expired"
  | "signature"
  | "unknown_key"
  | "wrong_issuer";

/** RFC 8037's name; with an Ed25519 key it is unambiguous. */
const ALGORITHM = "EdDSA";
/** Relay's own tokens have about 500 characters. */
const TOKEN_LENGTH_MAX = 4096;
const CACHED_KEYS_MAX = 64;

const MESSAGES: Readonly<Record<TokenFaultReason, string>> = {
  malformed: "Relay did not issue this JWT, or it is incomplete.",
  expired: "The JWT has expired. Sign in again.",
  signature: "The JWT's signature is invalid.",
  unknown_key: "The JWT was signed with a key that is no longer in use. Sign in again.",
  wrong_issuer: "The JWT was issued by another server.",
};

/** A new Ed25519 key. */
export async function generateSigningKey(): Promise<SigningKey> {
  const options = { crv: "Ed25519", extractable: true };
  const { publicKey, privateKey } = await generateKeyPair(ALGORITHM, options);
  const [publicJwk, privateJwk] = await Promise.all([exportJWK(publicKey), exportJWK(privateKey)]);
  const kid = await calculateJwkThumbprint(publicJwk);
  const use = { kid, alg: ALGORITHM, use: "sig" };
  return { kid, publicJwk: { ...publicJwk, ...use }, privateJwk: { ...privateJwk, ...use } };
}

/** Signs a token that is valid from `nowMs` for `ttlMs`, both cut to whole seconds. */
export async function signToken(
  key: SigningKey,
  { sub, org, sid }: Pick<Claims, "sub" | "org" | "sid">,
  { issuer, nowMs, ttlMs, jti }: { issuer: string; nowMs: number; ttlMs: number; jti: string },
): Promise<string> {
  return await new SignJWT({ org, sid })
    .setProtectedHeader({ alg: ALGORITHM, kid: key.kid, typ: "JWT" })
    .setIssuer(issuer)
    .setSubject(sub)
    .setJti(jti)
    .setIssuedAt(Math.floor(nowMs / 1000))
    .setExpirationTime(tokenExpiresAtMs(nowMs, ttlMs) / 1000)
    .sign(await importKey(key.privateJwk));
}

/** When a token that is signed at `nowMs` expires, in ms: a JWT has whole seconds only. */
export function tokenExpiresAtMs(nowMs: number, ttlMs: number): number {
  return (Math.floor(nowMs / 1000) + Math.floor(ttlMs / 1000)) * 1000;
}

/**
 * Checks a token against the keys in use at the given time, and returns its claims.
 * @throws {Fault} INVALID_TOKEN, with `details.reason` as in {@link TokenFaultReason}
 */
export async function verifyToken(
  keys: readonly VerificationKey[],
  token: string,
  { issuer, nowMs }: { issuer: string; nowMs: number },
): Promise<Claims> {
  if (token.length > TOKEN_LENGTH_MAX) throw tokenFault("malformed");
  const findKey = ({ kid }: JWTHeaderParameters) => {
    const key = keys.find((each) => each.kid === kid);
    if (key === undefined) throw tokenFault(kid === undefined ? "malformed" : "unknown_key");
    return importKey(key.publicJwk);
  };
  const { payload } = await jwtVerify(token, findKey, {
    algorithms: [ALGORITHM],
    typ: "JWT",
    issuer,
    currentDate: new Date(nowMs),
  }).catch((error) => {
    throw error instanceof errors.JOSEError ? tokenFault(reasonOf(error), error) : error;
  });
  return claimsOf(payload);
}

/** Importing a key costs as much as checking a token, so imported keys are kept. */
const imported = new RecentMap<Promise<CryptoKey>>(CACHED_KEYS_MAX);

function importKey(jwk: Jwk): Promise<CryptoKey> {
  const name = JSON.stringify([jwk.kid, jwk.x, jwk.d === undefined]);
  const known = imported.get(name);
  if (known !== undefined) return known;
  const key = importJWK(jwk as JWK, ALGORITHM) as Promise<CryptoKey>;
  imported.set(name, key);
  key.catch(() => imported.delete(name));
  return key;
}

function reasonOf(error: errors.JOSEError): TokenFaultReason {
  if (error instanceof errors.JWTExpired) return "expired";
  if (error instanceof errors.JWSSignatureVerificationFailed) return "signature";
  const wrongIssuer = error instanceof errors.JWTClaimValidationFailed && error.claim === "iss";
  return wrongIssuer ? "wrong_issuer" : "malformed";
}

function claimsOf({ sub, org, sid, jti, iat, exp }: JWTPayload): Claims {
  const texts = [sub, org, sid, jti].every((claim) => typeof claim === "string" && claim !== "");
  if (!texts || typeof iat !== "number" || typeof exp !== "number") throw tokenFault("malformed");
  return { sub, org, sid, jti, iat, exp } as Claims;
}

function tokenFault(reason: TokenFaultReason, cause?: unknown): Fault {
  return new Fault("INVALID_TOKEN", MESSAGES[reason], { reason }, { cause });
}
