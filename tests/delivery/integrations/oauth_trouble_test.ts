import { FIRST_RETRY_MS } from "../../support/ladder.ts";
import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { integrationJobs } from "../../../kv/records/integration.ts";
import { ManualClock } from "../../support/clock.ts";
import { eventsOf } from "../../support/linked_agent.ts";
import { shared } from "../../support/kv.ts";
import { responding } from "../webhooks/hook_fixtures.ts";
import { World } from "../../support/world.ts";
import { json } from "./fake_provider.ts";
import { installed, INTEGRATIONS } from "./fixtures.ts";
import { back, begin, connect, connected, MINUTE_MS, seen, setUp } from "./oauth_fixtures.ts";

Deno.test("oauth: every unusable token response is reported, and the refresh is retried", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const useless = [
    json(200, { access_token: "a", token_type: "mac" }),
    json(200, { access_token: "a", token_type: "Bearer", id_token: "a.b.c.d.e" }),
    json(200, { access_token: "\u0001", token_type: "Bearer" }),
    json(200, { access_token: "a", token_type: "Bearer", refresh_token: "ü" }),
    json(200, { access_token: "+".repeat(5_500), token_type: "Bearer" }),
    { status: 999 },
    { status: 302, headers: { location: "http://127.0.0.1/" } },
    { status: 200, headers: { "content-type": "text/html" }, body: "<html>" },
    {
      status: 200,
      headers: { "content-type": "application/json" },
      body: "{}",
      truncated: true,
    },
  ];
  for (const reply of useless) {
    here.provider.tokenReply = reply;
    const begun = await begin(world, here);
    const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
    ok([409, 503].includes(answer.status), answer.text);
    eq((await eventsOf(world, here.owner, here.id)).at(-1)!.event_type, "integration_refused");
  }
  here.provider.tokenReply = null;
  await connect(world, here);
  here.provider.tokenReply = useless[0]!;
  await world.advance(55 * MINUTE_MS);
  const asked = world.network.sent.length;
  ok((await seen(world, here)).last_error !== null);
  await world.advance(FIRST_RETRY_MS - 1);
  eq(world.network.sent.length, asked);
  await world.advance(1);
  eq(world.network.sent.length, asked + 1);
});

Deno.test("oauth: the relay's clock alone decides whether an ID token is in time", async () => {
  await using world = await World.open({ clock: new ManualClock(Date.UTC(2020, 0, 1)) });
  const here = await setUp(world);
  await connect(world, here);
  here.provider.idTokenSeconds = -60;
  const begun = await begin(world, here);
  const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
  deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
});

Deno.test("oauth: a browser of the console returns to it with the outcome", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const start = () => begin(world, here, here.key, { to_console: true });
  const returned = async (query: URLSearchParams, { cookie }: { readonly cookie: string }) => {
    const { status, headers } = await back(world, query, { cookie });
    eq(status, 303);
    return headers.get("location");
  };
  const failed = (code: string) => `/console/integrations?connect_failed=${code}`;
  const first = await start();
  const denied = new URLSearchParams({
    state: first.state,
    error: "access_denied",
    iss: here.provider.consent(first.authorize_url).get("iss") ?? "",
  });
  eq(await returned(denied, first), failed("FORBIDDEN"));
  eq(await returned(denied, first), failed("VALIDATION_FAILED"));
  const second = await start();
  const consent = here.provider.consent(second.authorize_url);
  consent.set("to_console", "https://evil.example");
  here.provider.down = true;
  eq(await returned(consent, second), failed("UNAVAILABLE"));
  here.provider.down = false;
  const third = await start();
  const query = here.provider.consent(third.authorize_url);
  const forged = `${third.cookie.split("=")[0]}=forged.console`;
  eq(await returned(query, { cookie: forged }), failed("MISSING_CREDENTIALS"));
  eq(await returned(query, third), `/console/integrations?connected=${here.id}`);
  const program = await start();
  const answer = await back(world, here.provider.consent(program.authorize_url), { as: here.key });
  deq([answer.status, answer.body.status], [200, "active"]);
});

Deno.test("oauth: a refused client is reported, and a challenge over 1 KiB is not read", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  for (
    const [chars, said] of [[1_000, /the client's id and secret/], [
      1_100,
      /invalid_client/,
    ]] as const
  ) {
    const challenge = `Basic realm="${"x".repeat(chars - 14)}"`;
    here.provider.tokenReply = {
      status: 401,
      headers: { "content-type": "application/json", "www-authenticate": challenge },
      body: JSON.stringify({ error: "invalid_client" }),
    };
    const begun = await begin(world, here);
    const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
    deq([answer.status, said.test(answer.body.error.message)], [409, true], answer.text);
  }
});

Deno.test("oauth: the client with the longest secret can revoke the largest accepted tokens", async () => {
  await using world = await World.open();
  const authentication = "client_secret_basic";
  const here = await setUp(world, { authentication, client_secret: "%".repeat(4096) });
  world.network.reply = (request) =>
    request.url.endsWith("/token")
      ? json(200, { access_token: "+".repeat(5_400), token_type: "bearer" })
      : here.provider.reply(request);
  await connect(world, here);
  const path = `${INTEGRATIONS}/${here.id}`;
  eq((await world.call("DELETE", path, { as: here.key })).status, 204);
});

Deno.test("oauth: an error in a 200 response is a refusal, and ends the connection when the refresh token no longer works", async () => {
  for (const error of ["bad_refresh_token", "invalid_refresh_token"]) {
    await using world = await World.open();
    const here = await setUp(world);
    here.provider.tokenReply = json(200, { error: "bad_verification_code" });
    const begun = await begin(world, here);
    const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
    deq([answer.status, answer.body.error.details.error], [409, "bad_verification_code"]);
    here.provider.tokenReply = null;
    await connect(world, here);
    here.provider.tokenReply = json(200, { ok: false, error });
    await world.advance(55 * MINUTE_MS);
    eq((await seen(world, here)).status, "expired");
  }
});

Deno.test("oauth: metadata with endpoints without TLS is refused unless private targets are allowed", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  for (const name of ["authorization_endpoint", "token_endpoint", "revocation_endpoint"]) {
    here.provider.metadata = { [name]: "http://login.example.com/x" };
    const answer = await world.call("POST", "/api/integrations/oauth/begin", {
      as: here.owner.token,
      body: { integration_id: here.id },
    });
    deq([name, answer.status], [name, 409]);
  }
});

Deno.test("oauth: refreshed tokens of a deleted integration are revoked", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const remove = async () => {
    const path = `/api/integrations/${here.id}`;
    eq((await world.call("DELETE", path, { as: here.key })).status, 204);
  };
  const during = { task: async () => {} };
  world.network.reply = async (request) => {
    const reply = await here.provider.reply(request);
    const isToken = request.url.endsWith("/token");
    if (isToken) await during.task();
    return reply;
  };
  await connect(world, here);
  during.task = async () => {
    during.task = async () => {};
    await remove();
  };
  await world.advance(55 * MINUTE_MS);
  await world.settle();
  eq(here.provider.refreshes, 1);
  deq(here.provider.alive, []);
});

Deno.test("oauth: tokens from a callback for a deleted integration are revoked", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  world.network.reply = async (request) => {
    const reply = await here.provider.reply(request);
    if (!request.url.endsWith("/token")) return reply;
    const path = `/api/integrations/${here.id}`;
    eq((await world.call("DELETE", path, { as: here.key })).status, 204);
    return reply;
  };
  const begun = await begin(world, here);
  const answer = await back(world, here.provider.consent(begun.authorize_url), begun);
  eq(answer.status, 404);
  await world.settle();
  deq(here.provider.alive, []);
});

Deno.test("oauth: a revocation that Slack refuses with 200 is retried until the token no longer works", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const client = { client_id: "relay", client_secret: "secret", channel: "C1" };
  const integration_id = await installed(world, owner, "slack", client);
  const said = ["internal_error", "ratelimited", "token_revoked"];
  world.network.reply = ({ url }) =>
    url.endsWith("/oauth.v2.access")
      ? json(200, { ok: true, access_token: "xoxb-1", token_type: "bot" })
      : json(200, { ok: false, error: said.shift() });
  const as = owner.token;
  const { body } = await world.call("POST", "/api/integrations/oauth/begin", {
    as,
    body: { integration_id },
  });
  await back(world, new URLSearchParams({ code: "c", state: body.state }), { as });
  await world.call("DELETE", `${INTEGRATIONS}/${integration_id}`, { as });
  await world.settle();
  eq(said.length, 2);
  await world.advance(10 * MINUTE_MS);
  deq(said, []);
  const { items: [job] } = await world.app.store.list(integrationJobs, {
    org: owner.org,
    space: "live",
  }, { limit: 2 });
  deq([job!.status, job!.attempt], ["done", 3]);
});

Deno.test("oauth: hanging refreshes do not delay other organizations", async () => {
  await using world = await World.open();
  const [here, there] = [await world.signUp(), await world.signUp()];
  const [hung, reached] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const asked: string[] = [];
  world.network.reply = async ({ url }) => {
    asked.push(new URL(url).hostname);
    if (url.includes("dead")) await hung.promise;
    else reached.resolve();
    return 500;
  };
  for (const [owner, host, count] of [[here, "dead", 40], [there, "alive", 1]] as const) {
    for (let n = 0; n < count; n++) await connected(world, owner, `https://${host}.example.com`);
  }
  world.app.integrations.sweep();
  await reached.promise;
  ok(asked.length <= 9, `${asked}`);
  hung.resolve();
  await world.settle();
  eq(asked.length, 41);
});

Deno.test("oauth: a refresh whose lease was taken by a clock far ahead is made at the next start", async () => {
  const kv = await Deno.openKv(":memory:");
  const dead = await World.open({ kv: shared(kv) });
  const rightMs = dead.clock.nowMs;
  dead.clock.nowMs += 60 * MINUTE_MS;
  await connected(dead, await dead.signUp(), "https://login.example.com");
  const asked = Promise.withResolvers<void>();
  dead.network.request = () => {
    asked.resolve();
    return new Promise(() => {});
  };
  dead.app.integrations.sweep();
  await asked.promise;
  await using world = await World.open({ kv, seed: 2 });
  eq(world.clock.nowMs, rightMs);
  await world.settle();
  deq(world.network.sent.map(({ url }) => url), ["https://login.example.com/token"]);
});

Deno.test("oauth: a start leaves a refresh alone that another instance is making", async () => {
  using kv = await Deno.openKv(":memory:");
  await using one = await World.open({ kv: shared(kv), sole: false });
  const asked = Promise.withResolvers<void>(), answered = Promise.withResolvers<void>();
  one.network.request = async () => {
    asked.resolve();
    await answered.promise;
    return responding(503);
  };
  await connected(one, await one.signUp(), "https://login.example.com");
  one.app.integrations.sweep();
  await asked.promise;
  await using two = await World.open({ kv: shared(kv), sole: false, seed: 2 });
  await two.settle();
  deq(two.network.sent, []);
  answered.resolve();
});
