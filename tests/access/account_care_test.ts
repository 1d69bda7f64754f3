import { deepStrictEqual as deq, match, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { resetPassword } from "../../core/access/sign_in/reset.ts";
import { SESSION_IDLE_MS } from "../../core/access/sign_in/refresh_token.ts";
import { SESSIONS_MAX } from "../../core/access/sign_in/sessions.ts";
import { type Account, World } from "../support/world.ts";
import { alive, codeOf, enrol, FACTOR, logIn, refused, SETTINGS } from "./account_fixtures.ts";

const PASSWORD = "/api/account/password";
const SESSIONS = "/api/account/sessions";

Deno.test("settings: are English and UTC by default, and change separately", async () => {
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

Deno.test("settings: a key reads and changes those of its creator; the test space changes nothing", async () => {
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

Deno.test("password: a concurrent sign-in with the old password gets no session", async () => {
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

Deno.test("password: a wrong, short or equal one changes nothing, and guesses are limited", async () => {
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

Deno.test("account: the test space changes no security setting, since the live trail would not show it", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { body: { sessions: [session] } } = await world.call("GET", "/api/account/sessions", {
    as: owner.token,
  });
  const code = { code: "123456" };
  const changes = [
    ["POST", PASSWORD, { current_password: "password 1", new_password: "another password" }],
    ["DELETE", `/api/account/sessions/${session.id}`],
    ["POST", FACTOR, { password: "password 1" }],
    ["POST", `${FACTOR}/confirm`, code],
    ["POST", `${FACTOR}/recovery-codes`, code],
    ["POST", `${FACTOR}/disable`, code],
    ["DELETE", "/api/shield/telegram-links/tgl_any"],
  ] as const;
  const headers = { "x-relay-space": "test" };
  for (const [method, path, body] of changes) {
    const answer = await world.call(method, path, { as: owner.token, headers, body });
    deq(refused(answer), [403, "FORBIDDEN"], path);
    match(answer.body.error.message, /test space/);
  }
  eq((await logIn(world, owner.email, "password 1")).status, 200);
  ok(await alive(world, owner.token));
});

Deno.test("sessions: are listed with their addresses, and ended one by one, the current one included", async () => {
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

Deno.test("sessions: expired ones are neither shown nor counted, on any page", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  for (let n = 0; n < 3; n++) await logIn(world, owner.email, "password 1");
  world.clock.nowMs += SESSION_IDLE_MS;
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

Deno.test("sessions: a person has a bounded number, and a new one replaces the oldest", async () => {
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

Deno.test("resetPassword: replaces the password and ends all sessions; removes the second factor only on request", async () => {
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

Deno.test("organization: those who may change settings rename it, once and audited; others change nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const admin = await world.join(owner, ["admin"]);
  const stranger = await world.signUp();
  const path = "/api/account/organization";
  const rename = (as: string, name: string) => world.call("PATCH", path, { as, body: { name } });
  deq(refused(await rename(admin.token, "Theirs")), [403, "INSUFFICIENT_SCOPES"]);
  eq((await rename(owner.token, " Blanks ")).status, 400);
  const renamed = await rename(owner.token, "Engines Ltd");
  deq([renamed.status, renamed.body.id, renamed.body.name], [200, owner.org, "Engines Ltd"]);
  eq((await rename(owner.token, "Engines Ltd")).status, 200);
  const nameFor = async ({ token: as }: Account) =>
    (await world.call("GET", "/api/account/info", { as })).body.organization.name;
  deq([await nameFor(admin), await nameFor(stranger)], ["Engines Ltd", "Organization 3"]);
  const query = "/api/audit?event_type=organization_renamed";
  const { body: { events } } = await world.call("GET", query, { as: owner.token });
  deq(events.map(({ details }: { details: object }) => details), [
    { name: "Engines Ltd", previous_name: "Organization 1" },
  ]);
});
