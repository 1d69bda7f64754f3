import {
  deepStrictEqual as deq,
  match,
  notStrictEqual as neq,
  ok,
  strictEqual as eq,
} from "node:assert/strict";
import { REPEAT_MS } from "../../core/access/sign_in/refresh.ts";
import { SESSION_IDLE_MS, SESSION_MAX_MS } from "../../core/access/sign_in/refresh_token.ts";
import { SESSIONS_MAX } from "../../core/access/sign_in/sessions.ts";
import { type SessionRecord, sessions } from "../../kv/records/user.ts";
import { shared } from "../support/kv.ts";
import { StreamClient } from "../support/stream.ts";
import { type Answer, World } from "../support/world.ts";
import { alive, enrol, logIn, refused } from "./account_fixtures.ts";
import { rawRows } from "../support/raw_rows.ts";

const HOUR_MS = 60 * 60 * 1000;
const EMAIL = "ada@example.com";
const PASSWORD = "a long password";
const SESSIONS = "/api/account/sessions";

const signUp = (world: World, email = EMAIL) =>
  world.call("POST", "/api/v1/signup", {
    body: { email, password: PASSWORD, organization: "Engines" },
  });

const refresh = (world: World, refresh_token: unknown, from = "192.0.2.1"): Promise<Answer> =>
  world.call("POST", "/api/v1/token/refresh", { body: { refresh_token }, from });

const reasonOf = ({ status, body }: Answer) => [
  status,
  body.error.code,
  body.error.details.reason,
];

const typesOf = async (world: World, as: string): Promise<string[]> => {
  const { body } = await world.call("GET", "/api/audit?limit=200", { as });
  return body.events.map(({ event_type }: { event_type: string }) => event_type);
};

/** Every entry of the store with its version. */
async function stored(world: World): Promise<string[]> {
  await world.settle();
  const entries = [];
  for (const { key, value, versionstamp } of await rawRows(world.kv)) {
    entries.push(`${key.join(" ")} ${versionstamp} ${Deno.inspect(value, { depth: 9 })}`);
  }
  return entries;
}

async function opened() {
  const world = await World.open();
  const { body } = await signUp(world);
  return { world, body };
}

Deno.test("refresh: signup, login and invitations answer a refresh token, which gives a new JWT and the next token", async () => {
  const { world, body: first } = await opened();
  await using _ = world;
  const invited = await world.call("POST", "/api/v1/invitations", { as: first.token, body: {} });
  const joined = await world.call("POST", "/api/v1/signup", {
    body: {
      email: "b@example.com",
      password: PASSWORD,
      invite_code: invited.body.invite_code,
    },
  });
  const entered = await logIn(world, EMAIL, PASSWORD);
  for (const { body } of [{ body: first }, joined, entered]) {
    eq(Date.parse(body.refresh_expires_at), world.clock.nowMs + SESSION_IDLE_MS);
    const next = await refresh(world, body.refresh_token);
    eq(next.status, 200);
    deq([next.body.user, next.body.organization], [body.user, body.organization]);
    neq(next.body.refresh_token, body.refresh_token);
    neq(next.body.token, body.token);
    ok(await alive(world, next.body.token));
    eq(next.headers.get("cache-control"), "no-store");
  }
  ok((await typesOf(world, first.token)).includes("session_refreshed"));
});

Deno.test("refresh: sessions outlive the JWT, and end 90 days after the sign-in", async () => {
  const { world, body } = await opened();
  await using _ = world;
  let latest = body;
  const begunMs = world.clock.nowMs;
  while (Date.parse(latest.refresh_expires_at) < begunMs + SESSION_MAX_MS) {
    world.clock.nowMs += SESSION_IDLE_MS - 1000;
    eq(await alive(world, latest.token), false);
    latest = (await refresh(world, latest.refresh_token)).body;
    ok(await alive(world, latest.token));
  }
  world.clock.nowMs = begunMs + SESSION_MAX_MS - HOUR_MS / 2;
  latest = (await refresh(world, latest.refresh_token)).body;
  eq(Date.parse(latest.expires_at), begunMs + SESSION_MAX_MS);
  world.clock.nowMs = begunMs + SESSION_MAX_MS;
  deq(reasonOf(await refresh(world, latest.refresh_token)), [401, "INVALID_TOKEN", "ended"]);
  eq(await alive(world, latest.token), false);
});

Deno.test("refresh: a session ends after 30 days without a refresh", async () => {
  const { world, body } = await opened();
  await using _ = world;
  world.clock.nowMs += SESSION_IDLE_MS;
  deq(reasonOf(await refresh(world, body.refresh_token)), [401, "INVALID_TOKEN", "ended"]);
});

Deno.test("refresh: within 30 seconds the same token gets the same successor, and nothing is written", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const first = await refresh(world, body.refresh_token);
  const before = await stored(world);
  world.clock.nowMs += REPEAT_MS - 1;
  const again = await refresh(world, body.refresh_token);
  eq(again.status, 200);
  eq(again.body.refresh_token, first.body.refresh_token);
  ok(await alive(world, again.body.token));
  deq(await stored(world), before);
  // Also when the successor has been used meanwhile.
  const second = await refresh(world, first.body.refresh_token);
  const late = await refresh(world, first.body.refresh_token);
  eq(late.body.refresh_token, second.body.refresh_token);
  eq((await refresh(world, second.body.refresh_token)).status, 200);
});

Deno.test("refresh: concurrent requests with one token, on two instances, all get the same successor", async () => {
  const kv = await Deno.openKv(":memory:");
  await using one = await World.open({ kv: shared(kv), sole: false });
  const { body } = await signUp(one);
  await using two = await World.open({ kv: shared(kv), sole: false, clock: one.clock });
  const answers = await Promise.all(
    [one, two, one, two, one].map((world) => refresh(world, body.refresh_token)),
  );
  deq(answers.map(({ status }) => status), [200, 200, 200, 200, 200]);
  eq(new Set(answers.map((answer) => answer.body.refresh_token)).size, 1);
  eq((await refresh(two, answers[0]!.body.refresh_token)).status, 200);
});

Deno.test("refresh: a used token after 30 seconds ends the session, with an event and a notification", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const other = await logIn(world, EMAIL, PASSWORD);
  const { body: { token, refresh_token } } = await refresh(world, body.refresh_token);
  world.clock.nowMs += REPEAT_MS;
  const stolen = await refresh(world, body.refresh_token, "203.0.113.9");
  deq(reasonOf(stolen), [401, "INVALID_TOKEN", "reused"]);
  eq(await alive(world, token), false);
  deq(reasonOf(await refresh(world, refresh_token)), [401, "INVALID_TOKEN", "ended"]);
  ok(await alive(world, other.body.token), "another session of the same person goes on");
  ok((await typesOf(world, other.body.token)).includes("refresh_token_reused"));
  const { notifications } =
    (await world.call("GET", "/api/account/notifications", { as: other.body.token })).body;
  deq(
    [notifications[0].type, notifications[0].details],
    ["refresh_token_reused", { address: "203.0.113.9" }],
  );
});

Deno.test("refresh: only its person is notified of the reuse, whatever their rights, also live", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const role = { name: "bare", permissions: ["agents:read"] };
  await world.call("POST", "/api/v1/roles", { as: body.token, body: role });
  const invited = await world.call("POST", "/api/v1/invitations", {
    as: body.token,
    body: { roles: ["bare"] },
  });
  const person = { email: "b@example.com", password: PASSWORD };
  const joined = (await world.call("POST", "/api/v1/signup", {
    body: { ...person, invite_code: invited.body.invite_code },
  })).body;
  const here = (await logIn(world, person.email, PASSWORD)).body.token;
  const stream = await StreamClient.open(world, here, {
    query: "?types=notification",
  });
  await refresh(world, joined.refresh_token);
  world.clock.nowMs += REPEAT_MS;
  await refresh(world, joined.refresh_token);
  await world.settle();
  const told = async (as: string) =>
    (await world.call("GET", "/api/account/notifications", { as })).body.notifications.length;
  deq([await told(here), await told(body.token)], [1, 0]);
  await stream.next();
  eq((await stream.next())!.data.type, "refresh_token_reused");
  await stream.cut();
});

Deno.test("refresh: a forged token changes nothing, also with a valid session id", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const { refresh_token } = body;
  const [org, id, count, mac] = refresh_token.slice("rrt_".length).split(".");
  const forged = (...parts: string[]) => `rrt_${parts.join(".")}`;
  const last = mac.at(-1) === "0" ? "1" : "0";
  const before = await stored(world);
  for (
    const text of [
      forged(org, id, count, mac.slice(0, -1) + last),
      forged(org, id, "2", mac),
      forged(org, id, "999999999", mac),
      forged(org, "ses_missing", count, mac),
      forged("org_missing", id, count, mac),
    ]
  ) deq(reasonOf(await refresh(world, text)), [401, "INVALID_TOKEN", "ended"], text);
  for (const text of ["x", body.token, `${refresh_token} `, forged(org, id, "0", mac)]) {
    deq(reasonOf(await refresh(world, text)), [401, "INVALID_TOKEN", "malformed"], text);
  }
  deq(refused(await refresh(world, "")), [400, "VALIDATION_FAILED"]);
  deq(await stored(world), before);
  eq((await refresh(world, refresh_token)).status, 200);
});

Deno.test("refresh: sign-out, a password change and a deactivation also end the refresh token", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const enter = async () => (await logIn(world, EMAIL, PASSWORD)).body;
  const ended = async (token: string) =>
    deq(reasonOf(await refresh(world, token)), [401, "INVALID_TOKEN", "ended"]);

  const out = await enter();
  const { sessions: [current] } = (await world.call("GET", SESSIONS, { as: out.token })).body;
  eq((await world.call("DELETE", `${SESSIONS}/${current.id}`, { as: out.token })).status, 204);
  await ended(out.refresh_token);

  const other = await enter();
  const change = { current_password: PASSWORD, new_password: "another password" };
  await world.call("POST", "/api/account/password", { as: body.token, body: change });
  await ended(other.refresh_token);
  const kept = await refresh(world, body.refresh_token);
  eq(kept.status, 200, "the session that changed it goes on");

  const invited = await world.call("POST", "/api/v1/invitations", { as: body.token, body: {} });
  const { invite_code } = invited.body;
  const joined = await world.call("POST", "/api/v1/signup", {
    body: { email: "b@example.com", password: PASSWORD, invite_code },
  });
  const path = `/api/v1/users/${joined.body.user.id}`;
  await world.call("POST", `${path}/deactivate`, { as: body.token });
  eq((await refresh(world, joined.body.refresh_token)).status, 401);
  await world.call("POST", `${path}/activate`, { as: body.token });
  await ended(joined.body.refresh_token);
});

Deno.test("refresh: a session keeps its second factor, and without a required one it still has no rights", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const bare = (await logIn(world, EMAIL, PASSWORD)).body;
  // The sign-in before enrolment is ended by it, so another person is without a factor here.
  const invited = await world.call("POST", "/api/v1/invitations", { as: body.token, body: {} });
  const joined = await world.call("POST", "/api/v1/signup", {
    body: {
      email: "b@example.com",
      password: PASSWORD,
      invite_code: invited.body.invite_code,
    },
  });
  await enrol(world, body, PASSWORD);
  deq(reasonOf(await refresh(world, bare.refresh_token)), [401, "INVALID_TOKEN", "ended"]);
  const own = await refresh(world, body.refresh_token);
  const required = { as: own.body.token, body: { required: true } };
  const path = "/api/account/second-factor/required";
  eq((await world.call("PUT", path, required)).status, 200);
  eq((await refresh(world, own.body.refresh_token)).body.second_factor, undefined);
  const without = await refresh(world, joined.body.refresh_token);
  eq(without.body.second_factor, "setup_required");
  const agents = await world.call("GET", "/api/v1/agents", { as: without.body.token });
  eq(agents.status, 403);
});

Deno.test("refresh: a new session replaces the one that would end first, not a refreshed one", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const second = (await logIn(world, EMAIL, PASSWORD)).body;
  world.clock.nowMs += HOUR_MS;
  const { refresh_token } = (await refresh(world, body.refresh_token)).body;
  for (let n = 0; n < SESSIONS_MAX - 1; n++) await logIn(world, EMAIL, PASSWORD);
  eq((await refresh(world, refresh_token)).status, 200);
  deq(reasonOf(await refresh(world, second.refresh_token)), [401, "INVALID_TOKEN", "ended"]);
});

Deno.test("refresh: a session of an earlier version is read, ends as it would have, and has no refresh token", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const tenant = { org: body.organization.id, space: "live" } as const;
  const [{ id }] = (await world.call("GET", SESSIONS, { as: body.token })).body.sessions;
  const {
    sealed_refresh_secret: _sealed,
    refresh_count: _count,
    refreshed_at_ms: _at,
    ...earlier
  } = (await world.app.store.get(sessions, tenant, id))!;
  await world.app.store.transact((tx) => {
    tx.put(sessions, tenant, {
      ...earlier,
      expires_at_ms: world.clock.nowMs + HOUR_MS,
    } as SessionRecord);
  });
  ok(await alive(world, body.token));
  deq(reasonOf(await refresh(world, body.refresh_token)), [401, "INVALID_TOKEN", "ended"]);
});

Deno.test("refresh: the store holds no refresh token as text", async () => {
  const { world, body } = await opened();
  await using _ = world;
  const next = await refresh(world, body.refresh_token);
  const text = (await stored(world)).join("\n");
  for (const { refresh_token } of [body, next.body]) {
    const mac = refresh_token.split(".").at(-1);
    match(mac, /^[0-9A-Za-z]{43}$/);
    ok(!text.includes(mac));
  }
});

Deno.test("refresh: is limited by address", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 3 } } });
  const { body } = await signUp(world);
  for (let n = 0; n < 2; n++) eq((await refresh(world, body.refresh_token)).status, 200);
  deq(refused(await refresh(world, body.refresh_token)), [429, "RATE_LIMIT_EXCEEDED"]);
  eq((await refresh(world, body.refresh_token, "198.51.100.2")).status, 200);
});
