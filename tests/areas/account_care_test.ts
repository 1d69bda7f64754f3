import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { TOTP } from "otpauth";
import { resetPassword } from "../../core/account/reset.ts";
import { stepOf } from "../../core/account/totp.ts";
import { SESSIONS_MAX } from "../../core/account/sessions.ts";
import { type Account, type Answer, World } from "../support/world.ts";

const SETTINGS = "/api/account/settings";
const PASSWORD = "/api/account/password";
const SESSIONS = "/api/account/sessions";
const FACTOR = "/api/account/second-factor";

const refused = ({ status, body }: Answer) => [status, body.error.code];

function logIn(world: World, email: string, password: string, code?: string, from = "192.0.2.1") {
  const body = { email, password, ...(code !== undefined && { code }) };
  return world.call("POST", "/api/v1/login", { body, from });
}

const alive = async (world: World, as: string): Promise<boolean> =>
  (await world.call("GET", "/api/account/info", { as })).status === 200;

/** What an authenticator shows at this moment. */
const codeOf = (world: World, secret: string): string =>
  new TOTP({ secret }).generate({ timestamp: world.clock.nowMs });

/** Sets a second factor up; the secret and the recovery codes. */
async function enrol(world: World, { token }: Pick<Account, "token">, password: string) {
  const made = await world.call("POST", FACTOR, { as: token, body: { password } });
  eq(made.status, 201);
  const { secret } = made.body;
  const body = { code: codeOf(world, secret) };
  const confirmed = await world.call("POST", `${FACTOR}/confirm`, { as: token, body });
  eq(confirmed.status, 200);
  return { secret, uri: made.body.uri, codes: confirmed.body.recovery_codes as string[] };
}

Deno.test("settings: are English and UTC until they are changed, each by itself", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const read = async () => (await world.call("GET", SETTINGS, { as })).body;
  deq(await read(), { language: "en", timezone: "UTC" });
  const put = async (body: unknown) => (await world.call("PUT", SETTINGS, { as, body })).body;
  deq(await put({ language: "PT-br" }), { language: "pt-BR", timezone: "UTC" });
  deq(await put({ timezone: "Europe/Prague" }), {
    language: "pt-BR",
    timezone: "Europe/Prague",
  });
  deq(await put({}), await read());
  eq((await world.trail({ token: as } as Account)).at(-1), "account_settings_changed");
});

Deno.test("settings: unknown languages and zones are refused with their path, and nothing changes", async () => {
  await using world = await World.open();
  const { token: as } = await world.signUp();
  const before = (await world.call("GET", SETTINGS, { as })).body;
  const faults: [string, unknown][] = [
    ...["", "english", "e", "en_US", "xx-", "qq", "zz-ZZ", "12", "en-", "*"].map((text) =>
      ["language", text] as [string, string]
    ),
    ...["", "Mars/Olympus", "+02:00", "Europe", "UTC+2", "Europe/Prague ", "1"].map((text) =>
      ["timezone", text] as [string, string]
    ),
    ["language", 5],
    ["timezone", null],
  ];
  for (const [field, text] of faults) {
    const good = field === "language" ? { timezone: "Asia/Tokyo" } : { language: "de" };
    const answer = await world.call("PUT", SETTINGS, { as, body: { ...good, [field]: text } });
    deq(refused(answer), [400, "VALIDATION_FAILED"], `${field} ${text}`);
    eq(answer.body.error.details.issues[0].path, `body.${field}`);
  }
  deq((await world.call("GET", SETTINGS, { as })).body, before);
});

Deno.test("settings: a key reads and changes those of who made it; the test space changes nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const body = { language: "fr" };
  eq((await world.call("PUT", SETTINGS, { as: key.value, body })).status, 200);
  eq((await world.call("GET", SETTINGS, { as: owner.token })).body.language, "fr");
  const test = await world.key(owner, ["agents:read"], { type: "test" });
  deq(refused(await world.call("PUT", SETTINGS, { as: test.value, body: { language: "de" } })), [
    403,
    "FORBIDDEN",
  ]);
  eq((await world.call("GET", SETTINGS, { as: owner.token })).body.language, "fr");
});

Deno.test("password: a change ends the other sessions and the old password, not this session and not keys", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const other = (await logIn(world, owner.email, "password 1")).body.token;
  const key = await world.key(owner, ["agents:read"]);
  const body = { current_password: "password 1", new_password: "another password" };
  const changed = await world.call("POST", PASSWORD, { as: owner.token, body });
  deq([changed.status, changed.body], [200, { sessions_ended: 1 }]);
  deq(
    [
      await alive(world, owner.token),
      await alive(world, other),
      await alive(world, key.value),
    ],
    [true, false, true],
  );
  eq((await logIn(world, owner.email, "password 1")).status, 401);
  eq((await logIn(world, owner.email, "another password")).status, 200);
  ok((await world.trail(owner)).includes("password_changed"));
});

Deno.test("password: a sign-in with the old one that is under way while it changes has no session after", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const body = { current_password: "password 1", new_password: "another password" };
  const change = world.call("POST", PASSWORD, { as: owner.token, body });
  const entries = await Promise.all(
    Array.from({ length: 6 }, () => logIn(world, owner.email, "password 1")),
  );
  eq((await change).status, 200);
  for (const { status, body } of entries) {
    ok(status === 401 || !await alive(world, body.token), "the old password's session lives on");
  }
});

Deno.test("password: a wrong, short or equal one changes nothing, and guesses meet a wall", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const change = (current_password: string, new_password: string, as = owner.token) =>
    world.call("POST", PASSWORD, { as, body: { current_password, new_password } });
  deq(refused(await change("password 1", "short")), [400, "VALIDATION_FAILED"]);
  const equal = await change("password 1", "password 1");
  eq(equal.body.error.details.issues[0].path, "body.new_password");
  const key = await world.key(owner, ["agents:read"]);
  deq(refused(await change("password 1", "another password", key.value)), [403, "FORBIDDEN"]);
  for (let n = 0; n < 10; n++) {
    deq(refused(await change("wrong", "another password")), [403, "FORBIDDEN"]);
  }
  eq((await change("password 1", "another password")).status, 429);
  await world.advance(15 * 60_000);
  eq((await change("password 1", "another password")).status, 200);
});

Deno.test("sessions: are listed with where they began, and ended one by one, also the current one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const stranger = await world.signUp();
  const other = (await logIn(world, owner.email, "password 1", undefined, "198.51.100.7")).body;
  const list = async (as: string) => (await world.call("GET", SESSIONS, { as })).body;
  const { sessions, pagination } = await list(owner.token);
  eq(pagination.total, 2);
  const told = sessions.map(({ current, address }: { current: boolean; address: string }) => [
    current,
    address,
  ]);
  deq(told, [[false, "198.51.100.7"], [true, "192.0.2.1"]]);
  const end = (id: string, as: string) => world.call("DELETE", `${SESSIONS}/${id}`, { as });
  eq((await end(sessions[0].id, stranger.token)).status, 404);
  ok(await alive(world, other.token));
  eq((await end(sessions[0].id, owner.token)).status, 204);
  eq(await alive(world, other.token), false);
  eq((await end(sessions[0].id, owner.token)).status, 404);
  eq((await end(sessions[1].id, owner.token)).status, 204);
  eq(await alive(world, owner.token), false);
});

Deno.test("sessions: those that have expired are neither shown nor counted, on any page", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 3; n++) await logIn(world, owner.email, "password 1");
  world.clock.nowMs += 60 * 60_000;
  await logIn(world, owner.email, "password 1");
  const as = (await logIn(world, owner.email, "password 1")).body.token;
  const page = async (query: string) =>
    (await world.call("GET", `${SESSIONS}${query}`, { as })).body;
  const all = await page("");
  deq([all.sessions.length, all.pagination.total], [2, 2]);
  const [first, second] = [await page("?limit=1"), await page("?limit=1&offset=1")];
  deq([first.pagination.has_more, second.pagination.has_more], [true, false]);
  deq([...first.sessions, ...second.sessions], all.sessions);
});

Deno.test("sessions: a person has a bounded number of them, and the oldest makes room", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const tokens: string[] = [];
  for (let n = 0; n < SESSIONS_MAX; n++) {
    tokens.push((await logIn(world, owner.email, "password 1")).body.token);
  }
  eq(await alive(world, owner.token), false);
  deq([await alive(world, tokens[0]!), await alive(world, tokens.at(-1)!)], [true, true]);
  const list = await world.call("GET", `${SESSIONS}?limit=200`, { as: tokens[1]! });
  eq(list.body.sessions.length, SESSIONS_MAX);
});

Deno.test("second factor: a sign-in needs its code, and each code serves once", async () => {
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
  const { sessions } = (await world.call("GET", SESSIONS, { as: token })).body;
  eq(sessions[0].second_factor, true);
});

Deno.test("second factor: a recovery code serves once; new ones make the old ones void", async () => {
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

Deno.test("second factor: guesses meet a wall wherever they come from, until the clock forgives", async () => {
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

Deno.test("second factor: is set up with the password and a code, ends other sessions, and is turned off with a code", async () => {
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

Deno.test("second factor: where the organization requires one, nobody has rights without, and keys go on", async () => {
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

Deno.test("second factor: who lost the authenticator signs in by a recovery code and sets another up, required or not", async () => {
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

Deno.test("second factor: sessions that were begun with one that is off count as begun without", async () => {
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

Deno.test("totp: takes the codes of RFC 6238, one step early and late, and no others", () => {
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

Deno.test("resetPassword: another password and no session; the second factor goes only when that is asked", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { email } = owner;
  const { secret } = await enrol(world, owner, "password 1");
  const { store, ports } = world.app;
  const kept = await resetPassword(store, ports, ` ${email.toUpperCase()}`, false);
  deq([kept.secondFactorRemoved, kept.sessionsEnded, kept.active], [false, 1, true]);
  eq(await alive(world, owner.token), false);
  eq((await logIn(world, email, "password 1")).status, 401, "the forgotten one");
  await world.advance(30_000);
  eq(
    (await logIn(world, email, kept.password)).body.error.details.reason,
    "second_factor_required",
  );
  eq((await logIn(world, email, kept.password, codeOf(world, secret))).status, 200);
  const bare = await resetPassword(store, ports, email, true);
  deq([bare.secondFactorRemoved, bare.sessionsEnded], [true, 1]);
  eq((await logIn(world, email, kept.password)).status, 401, "the one before");
  eq((await logIn(world, email, bare.password)).status, 200);
  await rejects(resetPassword(store, ports, "nobody@example.com", false), /nobody here has/);
});
