import assert from "node:assert/strict";
import { createHmac } from "node:crypto";

import { Fault } from "../../core/fault/fault.ts";
import {
  generateSigningKey,
  type SigningKey,
  signToken,
  tokenExpiresAtMs,
  type TokenFaultReason,
  type VerificationKey,
  verifyToken,
} from "../../core/access/tokens/jwt.ts";

const HOUR_MS = 3_600_000;
const NOW_MS = 1_767_225_600_250;
const ISSUER = "https://relay.example";
const WHO = { sub: "usr_1", org: "org_1", sid: "ses_1" };
const OPTIONS = { issuer: ISSUER, nowMs: NOW_MS, ttlMs: HOUR_MS, jti: "jti_1" };

const key = await generateSigningKey();
const other = await generateSigningKey();
const token = await signToken(key, WHO, OPTIONS);
const [header = "", payload = "", signature = ""] = token.split(".");

const encode = (value: unknown) =>
  new TextEncoder().encode(JSON.stringify(value)).toBase64({
    alphabet: "base64url",
    omitPadding: true,
  });
const decode = (part: string) =>
  JSON.parse(new TextDecoder().decode(Uint8Array.fromBase64(part, { alphabet: "base64url" })));

/** Any header and payload with a right signature of `by`, as only the holder of the key can make it. */
async function forge(by: SigningKey, head: unknown, body: unknown): Promise<string> {
  const signed = `${encode(head)}.${encode(body)}`;
  const { kty, crv, x, d } = by.privateJwk;
  const jwk = { kty, crv, x, d } as JsonWebKey;
  const secret = await crypto.subtle.importKey("jwk", jwk, "Ed25519", false, ["sign"]);
  const bytes = await crypto.subtle.sign("Ed25519", secret, new TextEncoder().encode(signed));
  const text = new Uint8Array(bytes).toBase64({ alphabet: "base64url", omitPadding: true });
  return `${signed}.${text}`;
}

async function refuses(
  text: string,
  reason: TokenFaultReason,
  { keys = [key], nowMs = NOW_MS, issuer = ISSUER }: {
    keys?: readonly VerificationKey[];
    nowMs?: number;
    issuer?: string;
  } = {},
): Promise<void> {
  await assert.rejects(
    verifyToken(keys, text, { issuer, nowMs }),
    (error) =>
      error instanceof Fault && error.code === "INVALID_TOKEN" && error.details.reason === reason,
    `${reason}: ${text.slice(0, 200)}`,
  );
}

Deno.test("signToken: verifyToken returns the claims that were signed", async () => {
  assert.deepEqual(await verifyToken([other, key], token, { issuer: ISSUER, nowMs: NOW_MS }), {
    ...WHO,
    jti: "jti_1",
    iat: 1_767_225_600,
    exp: 1_767_229_200,
  });
});

Deno.test("signToken: the header names the algorithm and the key, the payload no more than needed", () => {
  assert.deepEqual(decode(header), { alg: "EdDSA", kid: key.kid, typ: "JWT" });
  assert.deepEqual(Object.keys(decode(payload)).sort(), [
    "exp",
    "iat",
    "iss",
    "jti",
    "org",
    "sid",
    "sub",
  ]);
});

Deno.test("generateSigningKey: the public half holds nothing of the private one", () => {
  assert.deepEqual(Object.keys(key.publicJwk).sort(), ["alg", "crv", "kid", "kty", "use", "x"]);
  assert.equal(key.publicJwk.kid, key.kid);
  assert.equal(key.publicJwk.crv, "Ed25519");
  assert.notEqual(key.kid, other.kid);
  assert.equal(typeof key.privateJwk.d, "string");
});

Deno.test("verifyToken: a key that was stored as JSON verifies and signs as before", async () => {
  const stored: SigningKey = JSON.parse(JSON.stringify(other));
  const signed = await signToken(stored, WHO, OPTIONS);
  const claims = await verifyToken([stored], signed, { issuer: ISSUER, nowMs: NOW_MS });
  assert.equal(claims.sub, "usr_1");
});

Deno.test("verifyToken: a token is valid until the second in which it expires", async () => {
  const expiresAtMs = tokenExpiresAtMs(NOW_MS, HOUR_MS);
  assert.equal(expiresAtMs, 1_767_229_200_000);
  await verifyToken([key], token, { issuer: ISSUER, nowMs: expiresAtMs - 1 });
  await refuses(token, "expired", { nowMs: expiresAtMs });
  await refuses(token, "expired", { nowMs: expiresAtMs + HOUR_MS });
});

Deno.test("verifyToken: a changed payload, header or signature is refused", async () => {
  const changed = encode({ ...decode(payload), org: "org_2" });
  await refuses(`${header}.${changed}.${signature}`, "signature");
  const padded = encode({ ...decode(header), x: 1 });
  await refuses(`${padded}.${payload}.${signature}`, "signature");
  await refuses(`${header}.${payload}.${"A".repeat(86)}`, "signature");
  await refuses(`${header}.${payload}.`, "signature");
});

Deno.test("verifyToken: another key under a known kid is refused, before and after its use", async () => {
  const impostor: VerificationKey = { kid: key.kid, publicJwk: other.publicJwk };
  await refuses(token, "signature", { keys: [impostor] });
  await verifyToken([key], token, { issuer: ISSUER, nowMs: NOW_MS });
  await refuses(token, "signature", { keys: [impostor] });
});

Deno.test("verifyToken: a key that is no longer in the list is unknown, though it was used", async () => {
  await verifyToken([key], token, { issuer: ISSUER, nowMs: NOW_MS });
  await refuses(token, "unknown_key", { keys: [other] });
  await refuses(token, "unknown_key", { keys: [] });
});

Deno.test("verifyToken: only EdDSA is accepted, whatever the header says", async () => {
  const body = decode(payload);
  const none = `${encode({ alg: "none", kid: key.kid, typ: "JWT" })}.${encode(body)}.`;
  await refuses(none, "malformed");
  const signed = `${encode({ alg: "HS256", kid: key.kid, typ: "JWT" })}.${encode(body)}`;
  for (const secret of [String(key.publicJwk.x), JSON.stringify(key.publicJwk)]) {
    const mac = createHmac("sha256", secret).update(signed).digest("base64url");
    await refuses(`${signed}.${mac}`, "malformed");
  }
  await refuses(await forge(key, { alg: "ES256", kid: key.kid, typ: "JWT" }, body), "malformed");
});

Deno.test("verifyToken: a key that comes in the header is not used", async () => {
  const head = { alg: "EdDSA", kid: key.kid, typ: "JWT", jwk: other.publicJwk };
  await refuses(await forge(other, head, decode(payload)), "signature");
});

Deno.test("verifyToken: another issuer's token is refused, and one without issuer", async () => {
  await refuses(token, "wrong_issuer", { issuer: "https://other.example" });
  const { iss: _, ...body } = decode(payload);
  await refuses(await forge(key, decode(header), body), "wrong_issuer");
});

Deno.test("verifyToken: a token that lacks a claim or has a strange one is malformed", async () => {
  const body = decode(payload);
  for (const name of ["sub", "org", "sid", "jti", "iat", "exp"]) {
    for (const value of [undefined, "", {}, null]) {
      await refuses(await forge(key, decode(header), { ...body, [name]: value }), "malformed");
    }
  }
  await refuses(await forge(key, { ...decode(header), typ: "at+jwt" }, body), "malformed");
  await refuses(await forge(key, { alg: "EdDSA", typ: "JWT" }, body), "malformed");
});

Deno.test("verifyToken: other text is malformed, and a huge text is not even read", async () => {
  const others = [
    "",
    "a",
    "a.b",
    "a.b.c",
    "..",
    `${header}.${payload}`,
    `${token}.x`,
    "\ud800.é.\0",
  ];
  for (const text of others) await refuses(text, "malformed");
  const huge = await forge(key, decode(header), { ...decode(payload), x: "x".repeat(4096) });
  await refuses(huge, "malformed");
});
