import { deepStrictEqual as deq, notStrictEqual, strictEqual as eq } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createLocalJWKSet, decodeProtectedHeader, jwtVerify, SignJWT } from "jose";
import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { organizations } from "../../kv/records/organization.ts";
import { sessions, users } from "../../kv/records/user.ts";
import { SigningKeys } from "../../core/access/tokens/signing_keys.ts";
import { generateSigningKey, signToken } from "../../core/access/tokens/jwt.ts";
import { ManualClock } from "../support/clock.ts";
import { shared } from "../support/kv.ts";
import { type Account, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

const info = (world: World, as: string) => world.call("GET", "/api/account/info", { as });

async function logIn(world: World, { email }: Account): Promise<string> {
  const body = { email, password: "password 1" };
  return (await world.call("POST", "/api/v1/login", { body })).body.token;
}

async function reasonOf(world: World, token: string): Promise<string> {
  const answer = await info(world, token);
  deq([answer.status, answer.body.error.code], [401, "INVALID_TOKEN"]);
  return answer.body.error.details.reason;
}

const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString());
const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString("base64url");

Deno.test("tokens: a JWT is valid until the instant in the login's answer", async () => {
  await using world = await World.open();
  const { token } = await world.signUp();
  await world.advance(HOUR_MS - 1);
  eq((await info(world, token)).status, 200);
  await world.advance(1);
  eq(await reasonOf(world, token), "expired");
});

Deno.test("tokens: ending a session ends its token at once, and no other", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const other = await logIn(world, owner);
  const tenant: Tenant = { org: owner.org, space: "live" };
  const { sid } = claimsOf(owner.token);
  await world.app.store.transact((tx) => tx.delete(sessions, tenant, sid));
  eq(await reasonOf(world, owner.token), "ended");
  eq((await info(world, other)).status, 200);
});

Deno.test("tokens: a session is its user's alone", async () => {
  await using world = await World.open();
  const [owner, other] = [await world.signUp(), await world.signUp()];
  const { sid } = claimsOf(owner.token);
  const forged = await signToken(
    await world.app.signingKeys.current(),
    { sub: other.userId, org: owner.org, sid },
    { issuer: "relay", nowMs: world.clock.now(), ttlMs: HOUR_MS, jti: "x" },
  );
  eq(await reasonOf(world, forged), "ended");
});

Deno.test("tokens: an inactive user or organization is refused with every credential, until activated again", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const tenant: Tenant = { org: owner.org, space: "live" };
  const { store } = world.app;
  const setUser = (active: boolean) =>
    store.transact(async (tx) => {
      tx.put(users, tenant, { ...(await tx.get(users, tenant, owner.userId))!, active });
    });
  const setOrganization = (active: boolean) =>
    store.transact(async (tx) => {
      const organization = (await tx.get(organizations, SYSTEM, owner.org))!;
      tx.put(organizations, SYSTEM, { ...organization, active });
    });
  for (const set of [setUser, setOrganization]) {
    await set(false);
    eq(await reasonOf(world, owner.token), "inactive");
    const answer = await info(world, key.value);
    deq([answer.status, answer.body.error.code], [401, "INVALID_API_KEY"]);
    eq(answer.body.error.details.reason, "inactive");
    await set(true);
    eq((await info(world, owner.token)).status, 200);
    eq((await info(world, key.value)).status, 200);
  }
});

Deno.test("jwks: any JOSE library verifies a token with the published keys", async () => {
  await using world = await World.open({ settings: { publicUrl: "https://relay.example.com" } });
  const owner = await world.signUp();
  const { body } = await world.call("GET", "/.well-known/jwks.json");
  for (const key of body.keys) {
    deq(Object.keys(key).sort(), ["alg", "crv", "kid", "kty", "use", "x"]);
  }
  const { payload, protectedHeader } = await jwtVerify(
    owner.token,
    createLocalJWKSet(body),
    { issuer: "https://relay.example.com", currentDate: new Date(world.clock.now()) },
  );
  deq([payload.sub, payload.org], [owner.userId, owner.org]);
  deq([protectedHeader.alg, protectedHeader.kid], ["EdDSA", body.keys[0].kid]);
});

Deno.test("signing keys: after 30 days a new one signs, and tokens of the old one stay valid for their hour", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  // Jumps over 30 quiet days, up to a minute before the old key stops signing.
  world.clock.nowMs += 30 * DAY_MS - 60_000;
  const last = await logIn(world, owner);
  await world.advance(60_000);
  const first = await logIn(world, owner);
  const kids = [last, first].map((token) => decodeProtectedHeader(token).kid);
  notStrictEqual(kids[0], kids[1]);
  const published = (await world.call("GET", "/.well-known/jwks.json")).body.keys;
  deq(published.map(({ kid }: { kid: string }) => kid), kids);
  for (const token of [last, first]) eq((await info(world, token)).status, 200);
  await world.advance(HOUR_MS - 60_000);
  eq(await reasonOf(world, last), "expired");
  eq((await info(world, first)).status, 200);
  world.clock.nowMs += DAY_MS;
  const later = (await world.call("GET", "/.well-known/jwks.json")).body.keys;
  deq(later.map(({ kid }: { kid: string }) => kid), [kids[1]]);
});

Deno.test("signing keys: are stored sealed and survive a restart", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await World.open({ kv: shared(kv) });
  const owner = await first.signUp();
  await first[Symbol.asyncDispose]();
  await using world = await World.open({ kv, clock: first.clock, seed: 2 });
  eq((await info(world, owner.token)).status, 200);
  const stored: string[] = [];
  const within = { ...SYSTEM, kind: "signing_keys" };
  for (const { key, value } of await rawRows(kv, within)) {
    stored.push(key.join("/"), JSON.stringify(value));
  }
  eq(stored.length, 2);
  eq(/"d":/.test(stored.join()), false);
});

for (const step of [1_000, -HOUR_MS]) {
  const how = step > 0 ? "a second later" : "though a clock was set back";
  Deno.test(`signing keys: another instance's new key is found when a token names it, ${how}`, async () => {
    const kv = await Deno.openKv(":memory:");
    const clock = new ManualClock();
    await using one = await World.open({ kv, clock, sole: false });
    await using two = await World.open({ kv: shared(kv), clock, sole: false, seed: 2 });
    // Both have looked before there was a key.
    for (const world of [one, two]) await world.call("GET", "/.well-known/jwks.json");
    const owner = await one.signUp();
    clock.nowMs += step;
    eq((await info(two, owner.token)).status, 200);
  });
}

Deno.test("signing keys: instances that need one at the same time sign with the same one", async () => {
  await using world = await World.open();
  const { store, sealer, ports: { clock } } = world.app;
  const instances = Array.from({ length: 20 }, () => new SigningKeys(store, sealer, clock));
  const sign = async () => {
    const keys = await Promise.all(instances.map((instance) => instance.current()));
    return [...new Set(keys.map(({ kid }) => kid))];
  };
  const published = async () => (await instances[0]!.published()).map(({ kid }) => kid);
  const first = await sign();
  deq(await published(), first);
  world.clock.nowMs += 30 * DAY_MS;
  const second = await sign();
  deq(await published(), [...first, ...second]);
  eq(second.length, 1);
});

Deno.test("tokens: another issuer, algorithm, key or content is refused with its reason", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const [header, payload, signature] = owner.token.split(".") as [string, string, string];
  const key = await world.app.signingKeys.current();
  const claims = claimsOf(owner.token);
  const options = { nowMs: world.clock.now(), ttlMs: HOUR_MS, jti: "x" };
  const stranger = await generateSigningKey();
  const secret = new TextEncoder().encode(String(key.publicJwk.x));
  const hmac = await new SignJWT(claims).setProtectedHeader({ alg: "HS256", kid: key.kid })
    .sign(secret);
  const cases: [string, string][] = [
    [await signToken(key, claims, { ...options, issuer: "elsewhere" }), "wrong_issuer"],
    [await signToken(stranger, claims, { ...options, issuer: "relay" }), "unknown_key"],
    [
      await signToken({ ...stranger, kid: key.kid }, claims, { ...options, issuer: "relay" }),
      "signature",
    ],
    [`${encode({ alg: "none", kid: key.kid, typ: "JWT" })}.${payload}.`, "malformed"],
    [hmac, "malformed"],
    [`${header}.${encode({ ...claims, org: "org_other" })}.${signature}`, "signature"],
    [`${header}.${payload}.${signature.slice(0, -4)}AAAA`, "signature"],
    [`${header}.${payload}`, "malformed"],
    [`${owner.token}${"x".repeat(4096)}`, "malformed"],
    ["nonsense", "malformed"],
  ];
  for (const [at, [token, reason]] of cases.entries()) {
    eq(await reasonOf(world, token), reason, `case ${at}`);
  }
  eq((await info(world, owner.token)).status, 200);
});
