import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { refreshTokens } from "../../../core/delivery/integrations/oauth/refresh.ts";
import { users } from "../../../kv/records/user.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { ManualClock } from "../../support/clock.ts";
import { shared } from "../../support/kv.ts";
import { World } from "../../support/world.ts";
import { json } from "./fake_provider.ts";
import { installed } from "./fixtures.ts";
import {
  back,
  begin,
  CALLBACK,
  connect,
  MINUTE_MS,
  passwordOf,
  seen,
  setUp,
} from "./oauth_fixtures.ts";
import { FIRST_RETRY_MS, LADDER_MS } from "../../support/ladder.ts";

Deno.test("oauth: a flow with PKCE obtains tokens, which are never shown", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  eq((await seen(world, here)).status, "pending");
  eq(await passwordOf(world, here), null);
  const begun = await begin(world, here);
  const asked = new URL(begun.authorize_url).searchParams;
  match(asked.get("state")!, /^[\w-]{43}$/);
  eq(asked.get("state"), begun.state);
  eq(asked.get("scope"), "openid offline_access");
  eq(Date.parse(begun.expires_at), world.clock.now() + 10 * MINUTE_MS);
  const answer = await back(world, here.provider.consent(begun.authorize_url), {
    as: here.owner.token,
  });
  deq([answer.status, answer.body.status], [200, "active"]);
  eq(answer.headers.get("cache-control"), "no-store");
  eq(Date.parse(answer.body.token_expires_at), world.clock.now() + 60 * MINUTE_MS);
  const token = (await passwordOf(world, here))!;
  match(token, /^access-/);
  const types = (await eventsOf(world, here.owner, here.id)).map(({ event_type }) => event_type);
  deq(types, ["integration_installed", "integration_flow_begun", "integration_connected"]);
  const trail = await world.call("GET", "/api/audit?limit=200", { as: here.owner.token });
  const list = await world.call("GET", "/api/integrations", { as: here.owner.token });
  for (const text of [answer.text, trail.text, list.text]) {
    for (const hidden of [token, "refresh-", begun.state, here.provider.clientSecret]) {
      ok(!text.includes(hidden));
    }
  }
});

Deno.test("oauth: the cookie of begin authenticates the callback and is then deleted", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const begun = await begin(world, here);
  match(
    begun.setCookie,
    /^relay-oauth-[0-9a-f]{16}=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax$/,
  );
  const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
  eq(answer.status, 200, answer.text);
  ok(
    answer.headers.get("set-cookie")!.startsWith(
      `${begun.cookie.split("=")[0]}=; Path=/; Max-Age=0`,
    ),
  );
  const [, , connected] = await eventsOf(world, here.owner, here.id);
  eq(connected!.actor, here.owner.userId);
});

Deno.test("oauth: no credential is 401, another user is 403, and the state stays valid", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const begun = await begin(world, here);
  const other = await begin(world, here);
  const query = here.provider.consent(begun.authorize_url);
  const colleague = await world.join(here.owner, ["owner"]);
  const stranger = await world.signUp();
  const [name] = begun.cookie.split("=");
  const cases: [{ as?: string; cookie?: string }, number, string][] = [
    [{}, 401, "MISSING_CREDENTIALS"],
    [{ cookie: "session=1" }, 401, "MISSING_CREDENTIALS"],
    [{ cookie: other.cookie }, 401, "MISSING_CREDENTIALS"],
    [{ cookie: `${name}=${other.cookie.split("=")[1]}` }, 401, "MISSING_CREDENTIALS"],
    [{ as: "nonsense", cookie: begun.cookie }, 401, "INVALID_TOKEN"],
    [{ as: colleague.token }, 403, "FORBIDDEN"],
    [{ as: colleague.token, cookie: begun.cookie }, 403, "FORBIDDEN"],
    [{ as: stranger.token }, 403, "FORBIDDEN"],
  ];
  const asked = world.network.sent.length;
  for (const [by, status, code] of cases) {
    const answer = await back(world, query, by);
    deq([answer.status, answer.body.error.code], [status, code]);
  }
  eq(world.network.sent.length, asked);
  eq((await back(world, query, begun)).status, 200);
});

Deno.test("oauth: a user who lost the right or was deactivated cannot finish", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const maker = await world.join(here.owner, ["owner"]);
  const begun = await begin(world, here, maker.token);
  const query = here.provider.consent(begun.authorize_url);
  const tenant = { org: maker.org, space: "live" } as const;
  const change = (more: object) =>
    world.app.store.transact(async (tx) => {
      tx.put(users, tenant, { ...(await tx.get(users, tenant, maker.userId))!, ...more });
    });
  await change({ roles: ["viewer"] });
  for (const by of [begun, { as: maker.token }]) {
    const answer = await back(world, query, by);
    deq([answer.status, answer.body.error.details.required], [403, ["system:write"]]);
  }
  await change({ active: false });
  deq((await back(world, query, begun)).status, 401);
  await change({ roles: ["owner"], active: true });
  eq((await back(world, query, begun)).status, 200);
});

Deno.test("oauth: the cookie ends with the credential that began", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const inSession = await begin(world, here);
  const { id, value } = await world.key(here.owner, ["system:write"]);
  const withKey = await begin(world, here, value);
  const as = here.owner.token;
  eq((await world.call("POST", `/api/v1/api-keys/${id}/revoke`, { as })).status, 200);
  const { body: { sessions } } = await world.call("GET", "/api/account/sessions", { as });
  const path = `/api/account/sessions/${sessions[0].id}`;
  eq((await world.call("DELETE", path, { as })).status, 204);
  for (const begun of [inSession, withKey]) {
    const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
    deq([answer.status, answer.body.error.code], [401, "INVALID_TOKEN"]);
  }
});

Deno.test("oauth: a wrong, replayed or late state is refused", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const begun = await begin(world, here);
  const query = here.provider.consent(begun.authorize_url);
  const wrong = new URLSearchParams({ ...Object.fromEntries(query), state: "x".repeat(43) });
  const missing = new URLSearchParams({ code: "code-1" });
  for (const each of [wrong, missing]) {
    const answer = await back(world, each, { as: here.owner.token });
    deq([answer.status, answer.body.error.details.issues[0].path], [400, "query.state"]);
  }
  const both = await Promise.all([
    back(world, query, { as: here.owner.token }),
    back(world, query, begun),
  ]);
  deq(both.map(({ status }) => status).sort(), [200, 400]);
  eq((await back(world, query, begun)).status, 400);
  const late = await begin(world, here);
  world.clock.advance(10 * MINUTE_MS);
  const answer = await back(world, here.provider.consent(late.authorize_url), late);
  deq([answer.status, answer.body.error.code], [400, "VALIDATION_FAILED"]);
});

Deno.test("oauth: an integration has at most 20 open flows, and an ended one frees its place", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const beginOne = () =>
    world.call("POST", "/api/integrations/oauth/begin", {
      as: here.owner.token,
      body: { integration_id: here.id },
    });
  const statuses = async (n: number) =>
    (await Promise.all(Array.from({ length: n }, beginOne))).map(({ status }) => status).sort();
  deq(await statuses(22), [...Array(20).fill(200), 409, 409]);
  await world.advance(10 * MINUTE_MS);
  deq(await statuses(22), [...Array(20).fill(200), 409, 409]);
});

Deno.test("oauth: a code from another flow fails without its verifier", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const victim = await begin(world, here);
  const stolen = here.provider.consent(victim.authorize_url).get("code")!;
  const mine = await begin(world, here);
  const query = here.provider.consent(mine.authorize_url);
  query.set("code", stolen);
  const answer = await back(world, query, mine);
  deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
  eq(answer.body.error.details.error, "invalid_grant");
  eq((await seen(world, here)).status, "pending");
});

Deno.test("oauth: denied consent and a foreign issuer are reported and end the flow", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const first = await begin(world, here);
  const denied = await back(world, here.provider.denial(first.authorize_url), first);
  deq([denied.status, denied.body.error.details.error], [403, "access_denied"]);
  for (const iss of ["https://evil.example.com", null]) {
    const begun = await begin(world, here);
    const query = here.provider.consent(begun.authorize_url);
    if (iss === null) query.delete("iss");
    else query.set("iss", iss);
    const asked = world.network.sent.length;
    const answer = await back(world, query, begun);
    deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
    eq(world.network.sent.length, asked, "the code went out");
    eq((await back(world, query, begun)).status, 400);
  }
  const refused = (await eventsOf(world, here.owner, here.id))
    .filter(({ event_type }) => event_type === "integration_refused");
  eq(refused.length, 3);
});

Deno.test("oauth: an ID token for another client is refused", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  here.provider.audience = "somebody-else";
  const begun = await begin(world, here);
  const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
  deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
});

Deno.test("oauth: an unreachable provider is reported at begin and at the callback", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const begun = await begin(world, here);
  here.provider.down = true;
  const body = { integration_id: here.id };
  const again = await world.call("POST", "/api/integrations/oauth/begin", {
    as: here.owner.token,
    body,
  });
  deq([again.status, again.body.error.code], [503, "UNAVAILABLE"]);
  const query = here.provider.consent(begun.authorize_url);
  const answer = await back(world, query, begun);
  deq([answer.status, answer.body.error.code], [503, "UNAVAILABLE"]);
});

Deno.test("oauth: rotating tokens are refreshed before they end", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await connect(world, here);
  const first = await passwordOf(world, here);
  await world.advance(55 * MINUTE_MS - 1);
  eq(here.provider.refreshes, 0);
  await world.advance(1);
  eq(here.provider.refreshes, 1);
  const second = await passwordOf(world, here);
  ok(second !== null && second !== first);
  await world.advance(5 * 55 * MINUTE_MS);
  eq(here.provider.refreshes, 6);
  deq((await seen(world, here)).status, "active");
});

Deno.test("oauth: a refresh token that does not rotate is kept", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  here.provider.rotates = false;
  await connect(world, here);
  await world.advance(3 * 55 * MINUTE_MS);
  deq([here.provider.refreshes, (await seen(world, here)).status], [3, "active"]);
});

Deno.test("oauth: a consent without a refresh token keeps the one of the same account", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  here.provider.rotates = false;
  await connect(world, here);
  await world.advance(2 * 55 * MINUTE_MS);
  here.provider.givesRefresh = false;
  await connect(world, here);
  await world.advance(60 * MINUTE_MS);
  deq([here.provider.refreshes, (await seen(world, here)).status], [3, "active"]);
});

Deno.test("oauth: a consent without a refresh token never keeps that of another or unknown account", async () => {
  for (
    const [before, after] of [["alice", "bob"], ["alice", null], [null, "bob"], [null, null]]
  ) {
    await using world = await World.open();
    const here = await setUp(world);
    here.provider.subject = before!;
    await connect(world, here);
    Object.assign(here.provider, { subject: after, givesRefresh: false });
    await connect(world, here);
    await world.advance(60 * MINUTE_MS);
    const { status } = await seen(world, here);
    deq([here.provider.refreshes, status], [0, "expired"], `${before}, ${after}`);
  }
});

Deno.test("oauth: an ended token without a refresh token ends the connection and notifies people", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  here.provider.tokenReply = json(200, {
    access_token: "only",
    token_type: "bearer",
    expires_in: 3600,
  });
  await connect(world, here);
  await world.advance(60 * MINUTE_MS - 1);
  eq((await seen(world, here)).status, "active");
  await world.advance(1);
  const { status, last_error } = await seen(world, here);
  deq([status, last_error], [
    "expired",
    "The access token has expired, and the provider issued no refresh token. Connect the integration again.",
  ]);
  const trail = await world.trail({ ...here.owner, token: here.key });
  deq(trail.filter((type) => type === "notification_sent").length, 1);
  await connect(world, here);
  eq((await seen(world, here)).status, "active");
});

Deno.test("oauth: a refused refresh token ends the connection and notifies people", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await connect(world, here);
  here.provider.forget();
  await world.advance(60 * MINUTE_MS);
  const { status, last_error } = await seen(world, here);
  deq([status, last_error], ["expired", "The provider did not accept the request: invalid_grant."]);
  eq(here.provider.refreshes, 1);
  eq(await passwordOf(world, here), null);
  const reader = { ...here.owner, token: here.key };
  eq((await eventsOf(world, reader, here.id)).at(-1)!.event_type, "integration_expired");
  const told = (await world.trail(reader)).filter((type) => type === "notification_sent");
  eq(told.length, 1);
  await connect(world, here);
  eq((await seen(world, here)).status, "active");
});

Deno.test("oauth: while the provider is down a refresh is retried, and an ended token is not sent", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await connect(world, here);
  here.provider.down = true;
  await world.advance(59 * MINUTE_MS);
  match((await passwordOf(world, here))!, /^access-/);
  match((await seen(world, here)).last_error, /^The provider cannot be reached/);
  await world.advance(MINUTE_MS);
  eq(await passwordOf(world, here), null);
  here.provider.down = false;
  await world.advance(Math.max(...LADDER_MS));
  match((await passwordOf(world, here))!, /^access-/);
  eq((await seen(world, here)).last_error, null);
});

Deno.test("oauth: of concurrent refreshes on several instances one asks the provider", async () => {
  const kv = await Deno.openKv(":memory:");
  const clock = new ManualClock();
  const one = await World.open({ kv: shared(kv), clock, sole: false });
  const two = await World.open({ kv: shared(kv), clock, sole: false, seed: 2 });
  const here = await setUp(one);
  two.network.reply = here.provider.reply;
  await connect(one, here);
  const tenant = { org: here.owner.org, space: "live" } as const;
  clock.advance(56 * MINUTE_MS);
  await Promise.all(
    [one, two, one, two].map((world) => refreshTokens(world.app, tenant, here.id)),
  );
  await one.settle();
  await two.settle();
  eq(here.provider.refreshes, 1);
  eq(await passwordOf(one, here), await passwordOf(two, here));
  for (const world of [one, two]) await world[Symbol.asyncDispose]();
  kv.close();
});

Deno.test("oauth: deleting an integration revokes its tokens, with retries while the provider is down", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  await connect(world, here);
  const open = await begin(world, here, here.key);
  here.provider.down = true;
  eq((await world.call("DELETE", `/api/integrations/${here.id}`, { as: here.key })).status, 204);
  await world.settle();
  deq(here.provider.revoked, []);
  here.provider.down = false;
  await world.advance(FIRST_RETRY_MS);
  deq(here.provider.revoked.sort(), ["access_token", "refresh_token"]);
  const late = await back(world, here.provider.consent(open.authorize_url), open);
  eq(late.status, 400);
  await world.advance(60 * MINUTE_MS);
  eq(here.provider.refreshes, 0);
});

Deno.test("oauth: HEAD has no effect, and an integration without OAuth begins no flow", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const begun = await begin(world, here);
  const query = here.provider.consent(begun.authorize_url);
  const head = await world.raw("HEAD", `${CALLBACK}?${query}`, { as: here.owner.token });
  eq(head.status, 405);
  eq((await back(world, query, begun)).status, 200);
  const integration_id = await installed(world, here.owner, "github", { token: "ghp_1" });
  const answer = await world.call("POST", "/api/integrations/oauth/begin", {
    as: here.owner.token,
    body: { integration_id },
  });
  deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
});
