import { deepStrictEqual as deq, match, strictEqual as eq } from "node:assert/strict";
import { claimCodeOf } from "../../../core/access/access.ts";
import { SESSION_IDLE_MS, SESSION_MAX_MS } from "../../../core/access/sign_in/refresh_token.ts";
import { OWN_PAGE, World } from "../../support/world.ts";
import { enrol, refused } from "../account_fixtures.ts";
import { cookieIn, infoBy, PASSWORD, SESSION, stored } from "./console_fixtures.ts";

const SIGN_UP = `${SESSION}/sign-up`;
const ADA = { email: "ada@example.com", password: PASSWORD, organization: "Engines" };

const signUp = (world: World, body: object, headers: Readonly<Record<string, string>> = OWN_PAGE) =>
  world.call("POST", SIGN_UP, { headers, body });

Deno.test("console sign-up: the claim creates the host, and its owner's browser gets a cookie and no token", async () => {
  await using world = await World.open({ settings: { local: false } });
  const before = await stored(world);
  deq(refused(await signUp(world, ADA)), [403, "FORBIDDEN"]);
  const wrong = await signUp(world, { ...ADA, claim_code: "claim_wrong" });
  match(wrong.body.error.message, /claim_code/);
  deq([wrong.status, wrong.headers.get("set-cookie")], [403, null]);
  deq(await stored(world), before);
  const answer = await signUp(world, { ...ADA, claim_code: claimCodeOf(world.app) });
  deq([answer.status, answer.headers.get("cache-control")], [201, "no-store"]);
  const endsAt = new Date(world.clock.nowMs + SESSION_IDLE_MS).toISOString();
  deq(answer.body, { expires_at: endsAt });
  const [, ...attributes] = answer.headers.get("set-cookie")!.split("; ");
  deq(attributes, ["Path=/", `Max-Age=${SESSION_MAX_MS / 1000}`, "HttpOnly", "SameSite=Strict"]);
  const { body } = await infoBy(world, { ...OWN_PAGE, cookie: cookieIn(answer) });
  deq(
    [body.user.email, body.user.roles, body.organization.name, body.organization.host],
    [ADA.email, ["owner"], "Engines", true],
  );
});

Deno.test("console sign-up: an invitation joins its organization, once", async () => {
  await using world = await World.open({ settings: { signup: "invite" } });
  const owner = await world.signUp();
  deq(refused(await signUp(world, ADA)), [403, "FORBIDDEN"]);
  const invited = await world.call("POST", "/api/v1/invitations", {
    as: owner.token,
    body: { roles: ["operator"] },
  });
  const { invite_code } = invited.body;
  const { email, password } = ADA;
  await enrol(world, owner, "password 1");
  const required = { as: owner.token, body: { required: true } };
  eq((await world.call("PUT", "/api/account/second-factor/required", required)).status, 200);
  const joined = await signUp(world, { email, password, invite_code });
  eq(joined.status, 201, joined.text);
  eq(joined.body.second_factor, "setup_required");
  const { body } = await infoBy(world, { ...OWN_PAGE, cookie: cookieIn(joined) });
  deq([body.organization.id, body.user.roles, body.scopes], [owner.org, ["operator"], []]);
  const again = await signUp(world, { email: "eve@example.com", password, invite_code });
  deq([...refused(again), again.headers.get("set-cookie")], [410, "GONE", null]);
});

Deno.test("console sign-up: a page of another origin signs nobody up", async () => {
  await using world = await World.open();
  const before = await stored(world);
  for (
    const headers of [
      {},
      { origin: "http://localhost" },
      { "sec-fetch-site": "same-origin" },
      { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
      { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
    ]
  ) {
    const answer = await signUp(world, ADA, headers);
    deq([...refused(answer), answer.headers.get("set-cookie")], [403, "FORBIDDEN", null]);
  }
  deq(await stored(world), before);
});
