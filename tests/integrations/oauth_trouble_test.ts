import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import { eventsOf } from "../areas/fixtures.ts";
import { World } from "../support/world.ts";
import { json } from "./fake_provider.ts";
import { back, begin, connect, MINUTE_MS, seen, setUp } from "./oauth_fixtures.ts";

Deno.test("oauth: an answer of the token endpoint that is no use is told, whatever it is, and asked for on the ladder", async () => {
  await using world = await World.open();
  const here = await setUp(world);
  const useless = [
    json(200, { access_token: "a", token_type: "mac" }),
    json(200, { access_token: "a", token_type: "Bearer", id_token: "a.b.c.d.e" }),
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
  await world.advance(29_999);
  eq(world.network.sent.length, asked);
  await world.advance(1 + 119_999);
  eq(world.network.sent.length, asked + 1);
});

Deno.test("oauth: a refusal in an answer of 200 is one, and ends the connection when the token is spent", async () => {
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

Deno.test("oauth: endpoints that metadata name without TLS are refused, unless private ones are allowed", async () => {
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

Deno.test("oauth: tokens that come when their integration is gone are revoked", async () => {
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

Deno.test("oauth: tokens that a callback brings when the integration is gone are revoked", async () => {
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
