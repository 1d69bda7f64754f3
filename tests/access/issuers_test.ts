import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { exportJWK, generateKeyPair, type JWTPayload, SignJWT, UnsecuredJWT } from "jose";
import { organizations } from "../../kv/records/organization.ts";
import { SYSTEM } from "../../kv/store/collection.ts";
import { OutboundError } from "../../core/ports/ports.ts";
import { parseConfig } from "../../core/context/config.ts";
import { routes } from "../../routes/index.ts";
import { rpc, tool } from "../mcp/client.ts";
import { dump } from "../support/kv.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import type { Reply } from "../support/network.ts";
import { StreamClient } from "../support/stream.ts";
import { type Account, World } from "../support/world.ts";
import { setUser } from "./keys/key_fixtures.ts";
import { askedBy } from "./mcp_clients/fixtures.ts";

const ISSUER = "https://login.example/realms/ops";
const AUDIENCE = "https://relay.example/mcp";
const JWKS_URI = "https://login.example/keys";
const { privateKey, publicKey } = await generateKeyPair("ES256");
const other = await generateKeyPair("ES256");
const PUBLIC = { ...await exportJWK(publicKey), kid: "k1", alg: "ES256", use: "sig" };
const ENTRY = { issuer: ISSUER, audience: AUDIENCE, jwks_uri: JWKS_URI };

const json = (value: unknown): Reply => ({ status: 200, body: JSON.stringify(value) });

async function open(entry: Record<string, unknown> = ENTRY): Promise<World> {
  const world = await World.open({ config: { ...NO_LIMITS, auth: { issuers: [entry] } } });
  world.network.reply = () => json({ keys: [PUBLIC] });
  return world;
}

interface Options {
  readonly key?: CryptoKey;
  readonly header?: Record<string, unknown>;
  readonly lifeSeconds?: number;
}

/** A token as the issuer would make it for a person. */
async function issue(
  world: World,
  claims: Record<string, unknown>,
  { key = privateKey, header = {}, lifeSeconds = 300 }: Options = {},
): Promise<string> {
  const iat = Math.floor(world.clock.now() / 1000);
  const usual = { iss: ISSUER, aud: AUDIENCE, sub: "subject-1", iat, exp: iat + lifeSeconds };
  const head = { alg: "ES256", kid: "k1", typ: "at+jwt", ...header };
  return await new SignJWT({ ...usual, ...claims }).setProtectedHeader(head).sign(key);
}

const claimsOf = ({ email }: Account, scope = "agents:read agents:write"): JWTPayload => ({
  email,
  email_verified: true,
  scope,
});

const info = (world: World, as: string) => world.call("GET", "/api/account/info", { as });

async function reasonOf(world: World, as: string): Promise<string> {
  const { status, body } = await info(world, as);
  eq(status, 401, JSON.stringify(body));
  eq(body.error.code, "INVALID_TOKEN");
  return body.error.details.reason;
}

Deno.test("issuers: a token of a configured issuer acts for the user of its verified email, with the token's rights", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const token = await issue(world, {
    ...claimsOf(owner),
    email: ` ${owner.email.toUpperCase()}`,
    scope: "openid agents:read agents:write nonsense",
  });
  const { status, body } = await info(world, token);
  eq(status, 200);
  eq(body.user.id, owner.userId);
  deq(body.scopes, ["agents:read", "agents:write"]);
  const mcp = await rpc(world, "tools/list", {}, { as: token });
  ok(mcp.body.result.tools.some(({ name }: { name: string }) => name === "run_command"));
  eq((await world.call("GET", "/api/audit", { as: token })).status, 403);
});

Deno.test("issuers: no token gives more than its person may", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const viewer = await world.join(owner, ["viewer"]);
  const token = await issue(world, claimsOf(viewer, "agents:read agents:write system:write"));
  deq((await info(world, token)).body.scopes, ["agents:read"]);
  const none = await issue(world, { email: viewer.email, email_verified: true });
  deq((await info(world, none)).body.scopes, []);
});

Deno.test("issuers: a token that names no right ends no key of its person, and changes nothing of theirs", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  const as = await issue(world, claimsOf(owner, ""));
  const calls = [
    ["GET", "/api/v1/api-keys"],
    ["POST", `/api/v1/api-keys/${id}/revoke`],
    ["DELETE", `/api/v1/api-keys/${id}`],
    ["PUT", "/api/account/settings", { language: "fr" }],
  ] as const;
  for (const [method, path, body] of calls) {
    const { status, body: { error } } = await world.call(method, path, { as, body });
    deq([status, error.code], [403, "FORBIDDEN"], path);
  }
});

Deno.test("issuers: a token that names some rights cannot manage its person's own things, by any route", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  const as = await issue(world, claimsOf(owner, "agents:read approvals:write"));
  const open_to_any = ["account.info", "account.settings", "account.notifications", "scopes.list"];
  const users = await dump(world.kv, [owner.org, "live", "users"]);
  const keys = await dump(world.kv, [owner.org, "live", "api_keys"]);
  const bodies: Record<string, unknown> = {
    "account.update_settings": { language: "fr" },
    "account.change_password": { current_password: "password 1", new_password: "Another-pass-1" },
    "device_logins.read": { user_code: "7K3M-QX1D" },
    "device_logins.decide": { user_code: "7K3M-QX1D", approve: true },
    "mcp_clients.read_request": askedBy("mcp_x"),
    "mcp_clients.decide": { ...askedBy("mcp_x"), approve: true },
    "second_factor.enrol": { password: "password 1" },
    "second_factor.confirm": { code: "123456" },
    "second_factor.recovery_codes": { code: "123456" },
    "second_factor.disable": { code: "123456" },
  };
  const personal = [...routes.filter(({ access }) => "signedIn" in access && !access.orCookie)];
  personal.push(routes.find((each) => each.id === "telegram_links.create")!);
  for (const route of personal) {
    const query = route.id === "api_keys.explain" ? "?scope=agents:read" : "";
    const path = route.path.replace("{id}", id) + query;
    const body = bodies[route.id];
    const answer = await world.call(route.method, path, { as, body });
    const expected = open_to_any.includes(route.id) ? [200, undefined] : [403, "FORBIDDEN"];
    deq([answer.status, answer.body?.error?.code], expected, route.id);
  }
  deq(await dump(world.kv, [owner.org, "live", "users"]), users);
  deq(await dump(world.kv, [owner.org, "live", "api_keys"]), keys);
});

Deno.test("issuers: a token may manage keys as far as its scopes name, its person's keys included", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const { id } = await world.key(owner, ["agents:read"]);
  const as = await issue(world, claimsOf(owner, "system:read system:write"));
  eq((await world.call("GET", "/api/v1/api-keys", { as })).body.api_keys.length, 1);
  eq((await world.call("DELETE", `/api/v1/api-keys/${id}`, { as })).status, 204);
});

Deno.test("issuers: with `scope` null a token has all rights of its person", async () => {
  await using world = await open({ ...ENTRY, claims: { scope: null, email: "mail" } });
  const owner = await world.signUp();
  const token = await issue(world, { mail: owner.email, email_verified: true });
  const mine = (await info(world, owner.token)).body.scopes;
  deq((await info(world, token)).body.scopes, mine);
});

Deno.test("issuers: a token with another audience, issuer or type is refused", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const claims = claimsOf(owner);
  const nowSeconds = world.clock.now() / 1000;
  for (
    const good of [
      issue(world, claims, { lifeSeconds: -4 }),
      issue(world, { ...claims, nbf: nowSeconds + 5 }),
    ]
  ) eq((await info(world, await good)).status, 200);
  const cases: [string, Promise<string>][] = [
    ["audience", issue(world, { ...claims, aud: "https://other.example" })],
    ["audience", issue(world, { ...claims, aud: undefined })],
    ["expired", issue(world, claims, { lifeSeconds: -5 })],
    ["expired", issue(world, { ...claims, nbf: nowSeconds + 6 })],
    ["signature", issue(world, claims, { key: other.privateKey })],
    ["unknown_key", issue(world, claims, { header: { kid: "k9" } })],
    ["malformed", issue(world, claims, { header: { typ: "logout+jwt" } })],
    ["malformed", issue(world, { ...claims, exp: undefined })],
    ["malformed", issue(world, { ...claims, sub: undefined })],
    ["malformed", issue(world, { ...claims, sub: 7 })],
    ["unknown_user", issue(world, { ...claims, email_verified: false })],
    ["unknown_user", issue(world, { ...claims, email_verified: "true" })],
    ["unknown_user", issue(world, { ...claims, email: "nobody@example.com" })],
  ];
  for (const [reason, token] of cases) eq(await reasonOf(world, await token), reason, reason);
  const unsecured = new UnsecuredJWT({ ...claims, sub: "x" }).setIssuer(ISSUER)
    .setAudience(AUDIENCE).setExpirationTime(new Date(world.clock.now() + 60_000)).encode();
  eq(await reasonOf(world, unsecured), "malformed");
  const shared = await new SignJWT({ ...claims, sub: "x" }).setIssuer(ISSUER).setAudience(AUDIENCE)
    .setExpirationTime(new Date(world.clock.now() + 60_000))
    .setProtectedHeader({ alg: "HS256", kid: "k1" })
    .sign(new TextEncoder().encode(JSON.stringify(PUBLIC)));
  eq(await reasonOf(world, shared), "malformed");
  const stranger = await issue(world, { ...claims, iss: "https://login.example" });
  eq(await reasonOf(world, stranger), "malformed", "another issuer is not asked for its keys");
  deq([...new Set(world.network.sent.map(({ url }) => url))], [JWKS_URI]);
});

Deno.test("issuers: an email that matches only after non-ASCII lower-casing is unknown", async () => {
  await using world = await open();
  const body = { email: "kelvin@example.com", password: "password 1", organization: "Host" };
  eq((await world.call("POST", "/api/v1/signup", { body })).status, 201);
  const claims = { email_verified: true, scope: "agents:read" };
  eq((await info(world, await issue(world, { ...claims, email: body.email }))).status, 200);
  const kelvinSign = await issue(world, { ...claims, email: "\u212Aelvin@example.com" });
  eq(await reasonOf(world, kelvinSign), "unknown_user");
});

Deno.test("issuers: an issuer covers only its organization, the host by default", async () => {
  await using world = await open();
  await world.signUp();
  const stranger = await world.signUp();
  eq(await reasonOf(world, await issue(world, claimsOf(stranger))), "unknown_user");
  const there = parseConfig(JSON.stringify({
    ...NO_LIMITS,
    auth: { issuers: [{ ...ENTRY, organization: stranger.org }] },
  }));
  Object.assign(world.app.config(), { auth: there.auth });
  const token = await issue(world, claimsOf(stranger));
  eq((await info(world, token)).body.organization.id, stranger.org);
});

Deno.test("issuers: the map of subjects takes precedence over the email, and needs none", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const viewer = await world.join(owner, ["viewer"]);
  const auth = { issuers: [{ ...ENTRY, subjects: { "subject-1": viewer.userId } }] };
  Object.assign(world.app.config(), {
    auth: parseConfig(JSON.stringify({ ...NO_LIMITS, auth })).auth,
  });
  eq((await info(world, await issue(world, claimsOf(owner)))).body.user.id, viewer.userId);
  eq((await info(world, await issue(world, { scope: "agents:read" }))).body.user.id, viewer.userId);
  const odd = await issue(world, { sub: "constructor" });
  eq(await reasonOf(world, odd), "unknown_user");
});

Deno.test("issuers: a demotion or deactivation applies to the person's token at once", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const other = await world.join(owner, ["operator"]);
  const token = await issue(world, claimsOf(other, "agents:read agents:write"));
  deq((await info(world, token)).body.scopes, ["agents:read", "agents:write"]);
  await setUser(world, other, { roles: ["viewer"] });
  deq((await info(world, token)).body.scopes, ["agents:read"]);
  await setUser(world, other, { active: false });
  eq(await reasonOf(world, token), "inactive");
  await setUser(world, other, { active: true });
  const org = (await world.app.store.get(organizations, SYSTEM, owner.org))!;
  await world.app.store.transact(async (tx) => {
    tx.put(organizations, SYSTEM, {
      ...(await tx.get(organizations, SYSTEM, org.id))!,
      active: false,
    });
  });
  eq(await reasonOf(world, token), "inactive");
});

Deno.test("issuers: keys are fetched every ten minutes, and for unknown keys at most twice a minute", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const token = await issue(world, claimsOf(owner), { lifeSeconds: 7200 });
  await Promise.all(Array.from({ length: 20 }, () => info(world, token)));
  eq(world.network.sent.length, 1);
  for (let n = 0; n < 50; n++) {
    await reasonOf(world, await issue(world, claimsOf(owner), { header: { kid: `k${n + 2}` } }));
  }
  eq(world.network.sent.length, 1, "what came a moment ago is not asked for again");
  world.clock.advance(30_000);
  const next = { ...await exportJWK(other.publicKey), kid: "k2", alg: "ES256" };
  world.network.reply = () => json({ keys: [PUBLIC, next] });
  const rotated = await issue(world, claimsOf(owner), {
    key: other.privateKey,
    header: { kid: "k2" },
  });
  eq((await info(world, rotated)).status, 200, "a new key is found when a token names it");
  eq(world.network.sent.length, 2);
  world.clock.advance(10 * 60_000);
  world.network.reply = () => json({ keys: [next] });
  eq(await reasonOf(world, token), "unknown_key", "a key that is gone is worth nothing");
});

Deno.test("issuers: keys are fetched again after the clock was set back, also after a failed fetch", async () => {
  await using world = await open();
  const owner = await world.signUp();
  world.network.reply = () => new OutboundError("connect", "refused");
  eq((await info(world, await issue(world, claimsOf(owner)))).status, 503);
  world.clock.nowMs -= 30 * 60_000;
  world.network.reply = () => json({ keys: [PUBLIC] });
  const token = await issue(world, claimsOf(owner), { lifeSeconds: 7200 });
  eq((await info(world, token)).status, 200);
  world.clock.nowMs -= 20 * 60_000;
  world.network.reply = () => json({ keys: [] });
  eq(await reasonOf(world, token), "unknown_key", "a key that is gone is worth nothing");
});

Deno.test("issuers: an unreachable issuer gives 503; its known keys are used for a day", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const down: Reply[] = [
    new OutboundError("connect", "refused"),
    500,
    json("nonsense"),
    json({ keys: {} }),
    { status: 200, body: "<html>" },
  ];
  for (const reply of down) {
    world.network.reply = () => reply;
    const { status, body } = await info(world, await issue(world, claimsOf(owner)));
    deq([status, body.error.code], [503, "UNAVAILABLE"]);
    world.clock.advance(30_000);
  }
  world.network.reply = () => json({ keys: [PUBLIC] });
  eq((await info(world, await issue(world, claimsOf(owner)))).status, 200);
  world.network.reply = () => new OutboundError("connect", "refused");
  world.clock.advance(23 * 60 * 60_000);
  eq((await info(world, await issue(world, claimsOf(owner)))).status, 200);
  world.clock.advance(60 * 60_000);
  eq((await info(world, await issue(world, claimsOf(owner)))).status, 503);
  ok(world.logged.every(({ message }) => message.includes("could not be fetched")));
});

Deno.test("issuers: without a key address the metadata gives it, and must name the same issuer", async () => {
  await using world = await open({ issuer: ISSUER, audience: AUDIENCE });
  const owner = await world.signUp();
  const answers: Record<string, Reply> = {
    "https://login.example/realms/ops/.well-known/openid-configuration": 404,
    "https://login.example/.well-known/oauth-authorization-server/realms/ops": json({
      issuer: "https://evil.example",
      jwks_uri: "https://evil.example/keys",
    }),
    [JWKS_URI]: json({ keys: [PUBLIC] }),
  };
  world.network.reply = ({ url }) => answers[url] ?? 404;
  const token = await issue(world, claimsOf(owner));
  eq((await info(world, token)).status, 503);
  ok(world.network.sent.every(({ url }) => url.startsWith("https://login.example/")));
  answers["https://login.example/.well-known/oauth-authorization-server/realms/ops"] = json({
    issuer: ISSUER,
    jwks_uri: JWKS_URI,
  });
  world.clock.advance(30_000);
  eq((await info(world, token)).status, 200);
});

Deno.test("issuers: metadata lists them, challenges name the rights, and no query carries a token", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const path = "/.well-known/oauth-protected-resource/mcp";
  const metadata = await (await world.raw("GET", path)).json();
  deq(metadata.authorization_servers, [ISSUER, "http://localhost"]);
  const nobody = await tool(world, "tail_events", {});
  eq(nobody.status, 401);
  const challenge = nobody.headers.get("www-authenticate")!;
  ok(challenge.includes('scope="system:read audit:read"'), challenge);
  ok(challenge.includes(`resource_metadata="http://localhost${path}"`), challenge);
  ok(!challenge.includes("error="), "who showed nothing made no error (RFC 6750)");
  const poor = await issue(world, claimsOf(owner, "agents:read"));
  const narrow = await tool(world, "tail_events", {}, { as: poor });
  eq(narrow.status, 403);
  const said = narrow.headers.get("www-authenticate")!;
  ok(said.includes('error="insufficient_scope"'), said);
  ok(said.includes('scope="system:read audit:read"'), said);
  const bad = await tool(world, "health", {}, {
    as: await issue(world, { ...claimsOf(owner), aud: "x" }),
  });
  eq(bad.status, 401);
  ok(bad.headers.get("www-authenticate")!.includes('error="invalid_token"'));
  const good = await issue(world, claimsOf(owner));
  for (const query of [`access_token=${good}`, `token=${good}`]) {
    const init = { method: "POST", body: "{}", headers: { "content-type": "application/json" } };
    eq((await world.send(new Request(`http://localhost/mcp?${query}`, init))).status, 400);
  }
});

Deno.test("issuers: a stream ends with its token, with its issuer, and with its person's rights", async () => {
  await using world = await open();
  const owner = await world.signUp();
  const other = await world.join(owner, ["operator"]);
  const ended = async (change: () => unknown, lifeSeconds = 300) => {
    const token = await issue(world, claimsOf(other), { lifeSeconds });
    const client = await StreamClient.open(world, token);
    await client.next();
    await change();
    await world.advance(1_000);
    return (await client.next())!.data.name;
  };
  eq(await ended(() => world.advance(9_500), 10), "credential_ended");
  eq(await ended(() => setUser(world, other, { roles: [] })), "rights_lost");
  await setUser(world, other, { roles: ["operator"] });
  eq(await ended(() => setUser(world, other, { active: false })), "credential_ended");
  await setUser(world, other, { active: true });
  const gone = () => Object.assign(world.app.config(), { auth: parseConfig("{}").auth });
  eq(await ended(gone), "credential_ended");
  eq(await reasonOf(world, await issue(world, claimsOf(other))), "malformed");
});
