import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { stepOf } from "../../core/access/sign_in/totp.ts";
import { World } from "../support/world.ts";
import { alive, codeOf, enrol, FACTOR, logIn, refused, SETTINGS } from "./account_fixtures.ts";

Deno.test("second factor: a sign-in needs a code, and each code works once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { secret, uri } = await enrol(world, owner, "password 1");
  ok(uri.startsWith("otpauth://totp/Relay:person1%40example.com?") && uri.includes(secret));
  const bare = await logIn(world, owner.email, "password 1");
  deq(refused(bare), [401, "INVALID_LOGIN"]);
  eq(bare.body.error.details.reason, "second_factor_required");
  // Whoever does not know the password is not told that there is one.
  eq((await logIn(world, owner.email, "wrong")).body.error.details.reason, undefined);
  const used = await logIn(world, owner.email, "password 1", codeOf(world, secret));
  eq(used.body.error.details.reason, "second_factor_wrong", "the code of the confirmation again");
  await world.advance(30_000);
  const code = codeOf(world, secret);
  const pair = await Promise.all([1, 2].map(() => logIn(world, owner.email, "password 1", code)));
  deq(pair.map(({ status }) => status).sort(), [200, 401]);
  const { token } = pair.find(({ status }) => status === 200)!.body;
  const { sessions } = (await world.call("GET", "/api/account/sessions", { as: token })).body;
  eq(sessions[0].second_factor, true);
});

Deno.test("second factor: a recovery code works once; new ones replace the old ones", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { secret, codes } = await enrol(world, owner, "password 1");
  eq(new Set(codes).size, 10);
  eq((await logIn(world, owner.email, "password 1", codes[0]!)).status, 200);
  eq((await logIn(world, owner.email, "password 1", codes[0]!)).status, 401);
  eq((await world.call("GET", FACTOR, { as: owner.token })).body.recovery_codes_left, 9);
  ok((await world.trail(owner)).includes("recovery_code_used"));
  await world.advance(30_000);
  const body = { code: codeOf(world, secret) };
  const fresh = await world.call("POST", `${FACTOR}/recovery-codes`, { as: owner.token, body });
  eq((await logIn(world, owner.email, "password 1", codes[1]!)).status, 401);
  eq((await logIn(world, owner.email, "password 1", fresh.body.recovery_codes[1])).status, 200);
});

Deno.test("second factor: guesses are limited across addresses, until the window ends", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { secret } = await enrol(world, owner, "password 1");
  await world.advance(30_000);
  const guess = (n: number, code: string) =>
    logIn(world, owner.email, "password 1", code, `198.51.100.${n}`);
  for (let n = 0; n < 10; n++) eq((await guess(n, `${n}`.padStart(6, "x"))).status, 401);
  deq(refused(await guess(11, codeOf(world, secret))), [429, "RATE_LIMIT_EXCEEDED"]);
  await world.advance(15 * 60_000);
  eq((await guess(12, codeOf(world, secret))).status, 200);
});

Deno.test("second factor: is enabled with the password and a code, ends other sessions, and is disabled with a code", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const other = (await logIn(world, owner.email, "password 1")).body.token;
  const post = (path: string, body: unknown, as = owner.token) =>
    world.call("POST", `${FACTOR}${path}`, { as, body });
  deq(refused(await post("", { password: "wrong" })), [403, "FORBIDDEN"]);
  deq(refused(await post("/confirm", { code: "123456" })), [409, "CONFLICT"]);
  const { secret } = (await post("", { password: "password 1" })).body;
  deq(refused(await post("/confirm", { code: "abcdef" })), [403, "FORBIDDEN"]);
  eq((await logIn(world, owner.email, "password 1")).status, 200, "not on before it is confirmed");
  eq((await post("/confirm", { code: codeOf(world, secret) })).body.sessions_ended, 2);
  deq([await alive(world, owner.token), await alive(world, other)], [true, false]);
  deq(refused(await post("", { password: "password 1" })), [409, "CONFLICT"]);
  const key = await world.key(owner, ["agents:read"]);
  deq(refused(await post("/disable", { code: "123456" }, key.value)), [403, "FORBIDDEN"]);
  deq(refused(await post("/disable", { code: "abcdef" })), [403, "FORBIDDEN"]);
  await world.advance(30_000);
  eq((await post("/disable", { code: codeOf(world, secret) })).body.enabled, false);
  eq((await logIn(world, owner.email, "password 1")).status, 200);
});

Deno.test("second factor: if the organization requires one, nobody has rights without it, and keys keep working", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const person = await world.join(owner, ["operator"]);
  const key = await world.key(owner, ["agents:read"]);
  const require = (required: boolean) =>
    world.call("PUT", `${FACTOR}/required`, { as: owner.token, body: { required } });
  deq(refused(await require(true)), [409, "CONFLICT"]);
  const { secret } = await enrol(world, owner, "password 2");
  eq((await require(true)).status, 200);
  const scopes = async (as: string) =>
    (await world.call("GET", "/api/account/info", { as })).body.scopes.length;
  deq([await scopes(owner.token), await scopes(person.token), await scopes(key.value)], [16, 0, 1]);
  const again = await logIn(world, person.email, "password 2");
  deq([again.status, again.body.second_factor], [200, "setup_required"]);
  deq(refused(await world.call("GET", "/api/v1/agents", { as: again.body.token })), [
    403,
    "INSUFFICIENT_SCOPES",
  ]);
  await enrol(world, again.body, "password 2");
  eq(await scopes(again.body.token), 10);
  await world.advance(30_000);
  const body = { code: codeOf(world, secret) };
  const off = await world.call("POST", `${FACTOR}/disable`, { as: owner.token, body });
  deq([off.status, off.body.enabled, off.body.required], [200, false, true]);
  eq(await scopes(owner.token), 0, "whoever turns it off has no rights until there is another");
  await enrol(world, owner, "password 2");
  eq(await scopes(owner.token), 16);
  eq((await require(false)).status, 200);
});

Deno.test("second factor: without a required one a person manages neither own keys nor own settings", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const person = await world.join(owner, ["admin"]);
  const { id } = await world.key(person, ["agents:read"]);
  await enrol(world, owner, "password 2");
  const required = { as: owner.token, body: { required: true } };
  eq((await world.call("PUT", `${FACTOR}/required`, required)).status, 200);
  const key = `/api/v1/api-keys/${id}`;
  const closed = [
    ["GET", "/api/v1/api-keys"],
    ["GET", key],
    ["GET", `${key}/explain?scope=agents:read`],
    ["GET", `${key}/usage`],
    ["POST", `${key}/revoke`],
    ["DELETE", key],
    ["PUT", SETTINGS, { language: "fr" }],
    ["DELETE", "/api/shield/telegram-links/tgl_any"],
  ] as const;
  for (const [method, path, body] of closed) {
    const answer = await world.call(method, path, { as: person.token, body });
    deq(refused(answer), [403, "FORBIDDEN"], `${method} ${path}`);
  }
  await enrol(world, person, "password 2");
  eq(
    (await world.call("PUT", SETTINGS, { as: person.token, body: { language: "fr" } })).status,
    200,
  );
  eq((await world.call("DELETE", key, { as: person.token })).status, 204);
});

Deno.test("second factor: a recovery code lets a person replace a lost authenticator, required or not", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const { codes } = await enrol(world, owner, "password 2");
  const body = { required: true };
  eq((await world.call("PUT", `${FACTOR}/required`, { as: owner.token, body })).status, 200);
  const { token } = (await logIn(world, owner.email, "password 2", codes[0])).body;
  const post = (path: string, body: unknown) =>
    world.call("POST", `${FACTOR}${path}`, { as: token, body });
  eq((await post("/disable", { code: codes[0] })).status, 403, "it was used");
  eq((await post("/disable", { code: codes[1] })).status, 200);
  await enrol(world, { token }, "password 2");
  eq((await world.call("GET", "/api/v1/agents", { as: token })).status, 200);
});

Deno.test("second factor: sessions opened with a factor that is disabled later count as opened without", async () => {
  await using world = await World.open();
  await world.signUp();
  const owner = await world.signUp();
  const { secret, codes } = await enrol(world, owner, "password 2");
  const other = (await logIn(world, owner.email, "password 2", codes[0])).body.token;
  await world.advance(30_000);
  const body = { code: codeOf(world, secret) };
  eq((await world.call("POST", `${FACTOR}/disable`, { as: owner.token, body })).status, 200);
  eq(await alive(world, other), false);
  const required = { as: owner.token, body: { required: true } };
  deq(refused(await world.call("PUT", `${FACTOR}/required`, required)), [409, "CONFLICT"]);
});

Deno.test("totp: accepts the codes of RFC 6238, one step early or late, and no others", () => {
  // The secret of its appendix B, "12345678901234567890", in base32; its codes, cut to six digits.
  const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";
  const vectors: [number, string][] = [
    [59, "287082"],
    [1111111109, "081804"],
    [1234567890, "005924"],
    [2000000000, "279037"],
  ];
  for (const [seconds, code] of vectors) {
    const step = Math.floor(seconds / 30);
    for (const shift of [-30, 0, 30]) eq(stepOf(secret, code, (seconds + shift) * 1000), step);
    for (const shift of [-60, 60]) eq(stepOf(secret, code, (seconds + shift) * 1000), null);
  }
  for (const code of ["", "12345", "1234567", "abcdef", " 287082", "287083"]) {
    eq(stepOf(secret, code, 59_000), null, code);
  }
});
