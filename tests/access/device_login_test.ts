import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { sessions } from "../../kv/records/user.ts";
import { rawRows } from "../support/raw_rows.ts";
import { type Account, type Answer, World } from "../support/world.ts";
import { pair } from "../instances/pair.ts";

const MINUTE_MS = 60_000;
const SECOND_MS = 1_000;

async function start(world: World, from = "198.51.100.7") {
  const body = { device_name: "ana@laptop" };
  const answer = await world.call("POST", "/api/v1/login/device", { body, from });
  eq(answer.status, 201, answer.text);
  return answer.body as { device_code: string; user_code: string; interval: number };
}

const poll = (world: World, device_code: string) =>
  world.call("POST", "/api/v1/login/device/token", {
    body: { device_code },
    from: "198.51.100.7",
  });
const read = (world: World, { token }: Pick<Account, "token">, user_code: string) =>
  world.call("POST", "/api/account/device-login", { as: token, body: { user_code } });
const decide = (
  world: World,
  { token }: Pick<Account, "token">,
  user_code: string,
  { approve = true, from = "192.0.2.1" } = {},
) =>
  world.call("POST", "/api/account/device-login/decide", {
    as: token,
    body: { user_code, approve },
    from,
  });

const why = ({ status, body }: Answer) => [status, body.error.details.reason];
const sessionsOf = async (world: World, { token }: Account): Promise<number> =>
  (await world.call("GET", "/api/account/sessions", { as: token })).body.pagination.total;

Deno.test("device login: an approved code signs the terminal in as the person who approved it, once", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { device_code, user_code, interval } = await start(world);
  match(user_code, /^[0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4}$/);
  eq((await poll(world, device_code)).body.status, "authorization_pending");
  const typed = user_code.toLowerCase().replace("-", " ");
  const { body: shown } = await read(world, owner, typed);
  deq(
    [shown.device_name, shown.address, shown.status],
    ["ana@laptop", "198.51.100.7", "pending"],
  );
  eq((await decide(world, owner, typed)).body.status, "approved");
  world.clock.nowMs += interval * SECOND_MS;
  const { body: { status, session } } = await poll(world, device_code);
  eq(status, "complete");
  const { body: info } = await world.call("GET", "/api/account/info", { as: session.token });
  eq(info.user.id, owner.userId);
  const { refresh_token } = session;
  eq((await world.call("POST", "/api/v1/token/refresh", { body: { refresh_token } })).status, 200);
  deq(why(await poll(world, device_code)), [409, "used"]);
  deq(why(await decide(world, owner, user_code)), [409, "used"]);
  eq(await sessionsOf(world, owner), 2);
  const { body: { events } } = await world.call("GET", "/api/audit?event_type=user_login", {
    as: owner.token,
  });
  deq(events[0].details, {
    email: owner.email,
    address: "198.51.100.7",
    second_factor: "none",
    device_name: "ana@laptop",
  });
});

Deno.test("device login: codes are stored as hashes only", async () => {
  await using world = await World.open();
  const { device_code, user_code } = await start(world);
  const rows = (await rawRows(world.kv)).filter(({ kind }) => kind.startsWith("device_logins"));
  ok(rows.length > 0);
  const text = JSON.stringify(rows);
  for (const code of [device_code, user_code, user_code.replace("-", "")]) {
    ok(!text.includes(code), code);
  }
});

Deno.test("device login: a terminal that polls too often is told to slow down, and gets nothing meanwhile", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { device_code, user_code } = await start(world);
  await poll(world, device_code);
  await decide(world, owner, user_code);
  const { body } = await poll(world, device_code);
  deq([body.status, body.interval, body.session], ["slow_down", 10, null]);
  world.clock.nowMs += 9 * SECOND_MS;
  eq((await poll(world, device_code)).body.interval, 15);
  world.clock.nowMs += 15 * SECOND_MS;
  eq((await poll(world, device_code)).body.status, "complete");
});

Deno.test("device login: a denied, an expired and an unknown code give no session", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const denied = await start(world);
  eq((await decide(world, owner, denied.user_code, { approve: false })).body.status, "denied");
  deq(why(await poll(world, denied.device_code)), [403, "access_denied"]);
  deq(why(await decide(world, owner, denied.user_code)), [409, "used"]);
  const late = await start(world);
  const approved = await start(world);
  await decide(world, owner, approved.user_code);
  world.clock.nowMs += 10 * MINUTE_MS;
  deq(why(await decide(world, owner, late.user_code)), [410, "expired_token"]);
  deq(why(await poll(world, late.device_code)), [410, "expired_token"]);
  deq(why(await poll(world, approved.device_code)), [410, "expired_token"]);
  deq(why(await poll(world, "svc_login_guess")), [400, "unknown"]);
  eq(await sessionsOf(world, owner), 1);
});

Deno.test("device login: API keys, anonymous callers and the test space decide nothing", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { value } = await world.key(owner, ["system:write"]);
  const { device_code, user_code } = await start(world);
  eq((await decide(world, { token: value }, user_code)).status, 403);
  eq((await read(world, { token: value }, user_code)).status, 403);
  const body = { user_code, approve: true };
  eq((await world.call("POST", "/api/account/device-login/decide", { body })).status, 401);
  const test = await world.call("POST", "/api/account/device-login/decide", {
    as: owner.token,
    body,
    headers: { "x-relay-space": "test" },
  });
  eq(test.status, 403);
  eq((await poll(world, device_code)).body.status, "authorization_pending");
});

Deno.test("device login: ten wrong codes end the guesses of a person, from any address, and of a network", async () => {
  await using world = await World.open();
  const [owner, stranger, other] = [
    await world.signUp(),
    await world.signUp(),
    await world.signUp(),
  ];
  const { user_code } = await start(world);
  for (let n = 0; n < 10; n++) {
    const guess = await decide(world, stranger, `0000-000${n}`, { from: `203.0.113.${n}` });
    deq(why(guess), [400, "unknown"]);
  }
  eq((await decide(world, stranger, user_code, { from: "203.0.113.99" })).status, 429);
  for (let n = 0; n < 10; n++) {
    const person = n < 5 ? other : owner;
    await decide(world, person, `0000-000${n}`, { from: "203.0.113.50" });
  }
  eq((await decide(world, owner, user_code, { from: "203.0.113.50" })).status, 429);
  eq((await decide(world, owner, user_code)).status, 200);
});

Deno.test("device login: a person of another organization lends only their own rights, and cannot take a decision over", async () => {
  await using world = await World.open();
  const [owner, stranger] = [await world.signUp(), await world.signUp()];
  const first = await start(world);
  await decide(world, owner, first.user_code);
  deq(why(await decide(world, stranger, first.user_code)), [409, "used"]);
  deq(why(await read(world, stranger, first.user_code)), [409, "used"]);
  eq((await poll(world, first.device_code)).body.session.organization.id, owner.org);
  const second = await start(world);
  await decide(world, stranger, second.user_code);
  eq((await poll(world, second.device_code)).body.session.organization.id, stranger.org);
});

Deno.test("device login: an approval is void once the person changed the password", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { device_code, user_code } = await start(world);
  await decide(world, owner, user_code);
  const changed = await world.call("POST", "/api/account/password", {
    as: owner.token,
    body: { current_password: "password 1", new_password: "another password" },
  });
  eq(changed.status, 200, changed.text);
  deq(why(await poll(world, device_code)), [410, "void"]);
});

Deno.test("device login: an approval is void once the session that gave it has ended", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { device_code, user_code } = await start(world);
  eq((await decide(world, owner, user_code)).status, 200);
  const sessions = await world.call("GET", "/api/account/sessions", { as: owner.token });
  const path = `/api/account/sessions/${sessions.body.sessions[0].id}`;
  eq((await world.call("DELETE", path, { as: owner.token })).status, 204);
  deq(why(await poll(world, device_code)), [410, "void"]);
});

Deno.test("device login: a network has at most 100 undecided requests, other networks are not affected", async () => {
  await using world = await World.open();
  for (let n = 0; n < 100; n++) await start(world);
  const full = await world.call("POST", "/api/v1/login/device", {
    body: { device_name: "x" },
    from: "198.51.100.7",
  });
  deq([full.status, full.headers.get("retry-after")], [429, "600"]);
  await start(world, "198.51.100.8");
});

Deno.test("device login: of two decisions and of two polls at two instances one counts", async () => {
  await using cluster = await pair();
  const { one, two, owner } = cluster;
  const { user_code } = await start(one);
  const decided = await Promise.all([
    decide(one, owner, user_code),
    decide(two, owner, user_code, { approve: false }),
  ]);
  deq(decided.map(({ status }) => status).sort(), [200, 409]);
  const fresh = await start(two);
  await decide(one, owner, fresh.user_code);
  const polled = await Promise.all([poll(one, fresh.device_code), poll(two, fresh.device_code)]);
  deq(polled.map(({ status }) => status).sort(), [200, 409]);
});

Deno.test("GET /device: cannot be framed, loads nothing, sets no cookie and does not depend on the caller", async () => {
  await using world = await World.open();
  const { headers, text, status } = await world.call("GET", "/device");
  eq(status, 200);
  const policy = headers.get("content-security-policy")!;
  for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'none'"]) {
    ok(policy.includes(rule), rule);
  }
  eq(headers.get("x-frame-options"), "DENY");
  eq(headers.get("set-cookie"), null);
  ok(!/(src|href)=|https?:/.test(text));
  eq((await world.call("GET", "/device?user_code=7K3M-QX1D")).status, 400);
});

Deno.test("device login: the session counts as one with a second factor only if the approving session had one", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const tenant = { org: owner.org, space: "live" } as const;
  const { body: { sessions: [own] } } = await world.call("GET", "/api/account/sessions", {
    as: owner.token,
  });
  const factorOf = async () => {
    const { device_code, user_code } = await start(world);
    await decide(world, owner, user_code);
    const { body: { session } } = await poll(world, device_code);
    const listed = await world.call("GET", "/api/account/sessions", { as: session.token });
    return listed.body.sessions.find(({ current }: { current: boolean }) => current).second_factor;
  };
  eq(await factorOf(), false);
  await world.app.store.transact(async (tx) => {
    const session = await tx.get(sessions, tenant, own.id);
    tx.put(sessions, tenant, { ...session!, second_factor: true });
  });
  eq(await factorOf(), true);
  const path = "/api/audit?event_type=user_login";
  const { body: { events } } = await world.call("GET", path, { as: owner.token });
  deq(
    events.map(({ details }: { details: { second_factor: string } }) => details.second_factor),
    ["approving_session", "none"],
  );
});
