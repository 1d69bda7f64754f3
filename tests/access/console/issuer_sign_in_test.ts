import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { SESSION_MAX_MS } from "../../../core/access/sign_in/refresh_token.ts";
import { parseConfig } from "../../../core/context/config.ts";
import { OutboundError } from "../../../core/ports/ports.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { openMemoryStore } from "../../cluster/shared_store.ts";
import { ManualClock } from "../../support/clock.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { OWN_PAGE, World } from "../../support/world.ts";
import { alive, refused } from "../account_fixtures.ts";
import { setUser } from "../keys/key_fixtures.ts";
import { INFO, infoBy, SESSION, signIn, stored } from "./console_fixtures.ts";
import { CLIENT, ISSUER } from "./fake_issuer.ts";
import {
  CALLBACK,
  comeBack,
  cookiesOf,
  enter,
  ENTRY,
  open,
  PUBLIC,
  reasonOf,
  sessionIn,
  START,
  start,
  verified,
} from "./issuer_fixtures.ts";

Deno.test("issuer sign-in: a browser gets the session of the issuer's user, in the cookie only", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const { email, token, userId } = await world.signUp();
  const { body: options } = await world.call("GET", SESSION);
  const url = `${START}?issuer=${encodeURIComponent(ISSUER)}`;
  deq(options, {
    signed_in: false,
    claimed: true,
    claim_code: false,
    sign_up: "open",
    issuers: [{ issuer: ISSUER, name: "login.example", url }],
  });
  const begun = await world.call("GET", url, { headers: OWN_PAGE });
  deq([begun.status, begun.headers.get("cache-control")], [303, "no-store"]);
  const [flow, ...attributes] = begun.headers.get("set-cookie")!.split("; ");
  match(flow!, /^relay-oidc-[0-9a-f]{16}=v1\./);
  deq(attributes, ["Path=/", "Max-Age=600", "HttpOnly", "SameSite=Lax"]);
  const address = new URL(begun.headers.get("location")!);
  const { state, nonce, code_challenge, ...query } = Object.fromEntries(address.searchParams);
  deq([state, nonce, code_challenge].map((text) => text!.length), [43, 43, 43]);
  deq(query, {
    tenant: "1",
    client_id: CLIENT,
    redirect_uri: `${PUBLIC}${CALLBACK}`,
    response_type: "code",
    scope: "openid email",
    code_challenge_method: "S256",
  });
  const answer = await comeBack(world, issuer.consent(address.href, verified({ email })), flow!);
  deq([answer.status, answer.headers.get("location")], [303, "/console"]);
  const [over, session] = cookiesOf(answer);
  eq(over, `${flow!.split("=")[0]}=; Path=/; Max-Age=0; HttpOnly; SameSite=Lax`);
  match(
    session!,
    new RegExp(
      `^relay_session_80=rsc_\\S+; Path=/; Max-Age=${
        SESSION_MAX_MS / 1000
      }; HttpOnly; SameSite=Strict$`,
    ),
  );
  const page = { ...OWN_PAGE, cookie: sessionIn(answer) };
  const { body } = await infoBy(world, page);
  deq([body.user.id, body.scopes.includes("system:write")], [userId, true]);
  eq((await world.call("GET", SESSION, { headers: page })).body.signed_in, true);
  const trail = await world.call("GET", "/api/audit?event_type=user_login", { as: token });
  deq(trail.body.events[0].details, {
    email,
    address: "192.0.2.1",
    second_factor: "issuer",
    issuer: ISSUER,
  });
  const said = [...await stored(world), JSON.stringify(world.logged)].join();
  for (const secret of [state!, nonce!, flow!.split("=")[1]!, ...issuer.idTokens]) {
    ok(!said.includes(secret), "nothing of the flow is stored or logged");
  }
});

Deno.test("issuer sign-in: only the browser that began, with its state, within ten minutes, gets the session", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  const mine = await start(world);
  const other = await start(world);
  const before = await stored(world);
  const answer = issuer.consent(mine.address, verified(owner));
  const asksNobody = async (query: URLSearchParams, cookie: string) => {
    const sent = world.network.sent.length;
    eq(reasonOf(await comeBack(world, query, cookie)), "expired");
    eq(world.network.sent.length, sent);
  };
  await asksNobody(answer, "");
  await asksNobody(answer, other.cookie);
  const [name] = mine.cookie.split("=");
  await asksNobody(answer, `${name}=${other.cookie.split("=")[1]}`);
  await asksNobody(answer, `${name}=made-up`);
  await asksNobody(new URLSearchParams({ ...Object.fromEntries(answer), state: "x" }), mine.cookie);
  await asksNobody(new URLSearchParams(), mine.cookie);
  world.clock.nowMs += 10 * 60 * 1000;
  await asksNobody(answer, mine.cookie);
  deq(await stored(world), before);
});

Deno.test("issuer sign-in: a state begins one session, also with a code that the issuer takes again", async () => {
  const { opened: kv } = openMemoryStore();
  const at = { kv, sole: false } as const;
  const { world: one, issuer } = await open(at);
  await using _one = one;
  const { world: two } = await open({ ...at, clock: one.clock, seed: 2 });
  await using _two = two;
  two.network.reply = issuer.reply;
  const owner = await one.signUp();
  const { address, cookie } = await start(one);
  const answer = issuer.consent(address, verified(owner));
  const elsewhere = await comeBack(two, answer, cookie);
  eq(elsewhere.headers.get("location"), "/console", "another instance may finish it");
  eq(reasonOf(await comeBack(one, answer, cookie)), "refused", "the issuer refuses the code");
  issuer.lax = true;
  const again = await start(one);
  const query = issuer.consent(again.address, verified(owner));
  const answers = await Promise.all([one, two].map((at) => comeBack(at, query, again.cookie)));
  const locations = answers.map(({ headers }) => headers.get("location"));
  deq(locations.sort(), ["/console", "/console#sign_in_failed=expired"]);
});

Deno.test("issuer sign-in: a wrong nonce, audience, issuer, key or time signs nobody in", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  const before = await stored(world);
  const now = Math.floor(world.clock.nowMs / 1000);
  const wrong: Readonly<Record<string, unknown>>[] = [
    { nonce: "another flow's" },
    { nonce: undefined },
    { aud: ENTRY.audience },
    { aud: [CLIENT, "another client"], azp: "another client" },
    { iss: "https://evil.example" },
    { exp: now - 60 },
    { sub: undefined },
  ];
  for (const claims of wrong) {
    issuer.claims = claims;
    const reason = reasonOf(await enter({ world, issuer }, verified(owner)));
    ok(["refused", "expired"].includes(reason), `${JSON.stringify(claims)} ${reason}`);
  }
  issuer.claims = {};
  for (const signer of ["a stranger", "nobody"] as const) {
    issuer.signedBy = signer;
    eq(reasonOf(await enter({ world, issuer }, verified(owner))), "refused", signer);
  }
  issuer.signedBy = "itself";
  const { address, cookie } = await start(world);
  const mixedUp = issuer.consent(address, verified(owner));
  mixedUp.set("iss", "https://evil.example");
  eq(reasonOf(await comeBack(world, mixedUp, cookie)), "refused");
  deq(await stored(world), before);
  ok(world.logged.some(({ message }) => message === "a browser could not sign in at an issuer"));
  eq((await enter({ world, issuer }, verified(owner))).headers.get("location"), "/console");
});

Deno.test("issuer sign-in: the relay's clock alone decides whether an ID token is in time", async () => {
  const { world, issuer } = await open({ clock: new ManualClock(Date.UTC(2020, 0, 1)) });
  await using _ = world;
  const owner = await world.signUp();
  eq((await enter({ world, issuer }, verified(owner))).headers.get("location"), "/console");
  const now = Math.floor(world.clock.nowMs / 1000);
  for (const claims of [{ exp: now - 60 }, { nbf: now + 60 }]) {
    issuer.claims = claims;
    eq(reasonOf(await enter({ world, issuer }, verified(owner))), "expired");
  }
});

Deno.test("issuer sign-in: over HTTPS the flow's cookie is bound to the host, and another name does not replace it", async () => {
  const { world, issuer } = await open({ settings: { publicUrl: "https://relay.example" } });
  await using _ = world;
  const owner = await world.signUp();
  const path = `${START}?issuer=${encodeURIComponent(ISSUER)}`;
  const begun = await world.call("GET", path, {
    headers: { ...OWN_PAGE, origin: "https://relay.example" },
  });
  const [cookie, ...attributes] = begun.headers.get("set-cookie")!.split("; ");
  match(cookie!, /^__Host-relay-oidc-[0-9a-f]{16}=v1\./);
  deq(attributes, ["Path=/", "Max-Age=600", "Secure", "HttpOnly", "SameSite=Lax"]);
  const query = issuer.consent(begun.headers.get("location")!, verified(owner));
  const bare = await comeBack(world, query, cookie!.replace("__Host-", ""));
  eq(bare.headers.get("location"), "/console#sign_in_failed=expired");
  const answer = await comeBack(world, query, cookie!);
  eq(answer.headers.get("location"), "/console");
  match(sessionIn(answer), /^__Host-relay_session_443=/);
});

Deno.test("issuer sign-in: a token leads to a user as access tokens do, and creates none", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  const other = await world.signUp();
  const both = { world, issuer };
  const before = await stored(world);
  for (
    const claims of [
      verified({ email: "nobody@example.com" }),
      { ...verified(owner), email_verified: false },
      verified(other),
      {},
    ]
  ) {
    eq(reasonOf(await enter(both, claims)), "unknown_user", JSON.stringify(claims));
  }
  const { address, cookie } = await start(world);
  const query = new URLSearchParams({
    state: new URL(address).searchParams.get("state")!,
    error: "access_denied",
    iss: ISSUER,
  });
  eq(reasonOf(await comeBack(world, query, cookie)), "denied");
  deq(await stored(world), before);
  const member = await world.join(owner, ["viewer"]);
  await setUser(world, member, { active: false });
  eq(reasonOf(await enter(both, verified(member))), "inactive");
  world.clock.nowMs += 11 * 60 * 1000;
  world.network.reply = () => new OutboundError("connect", "no answer");
  const lost = await world.call("GET", `${START}?issuer=${encodeURIComponent(ISSUER)}`, {
    headers: OWN_PAGE,
  });
  eq(reasonOf(lost), "unreachable");
});

Deno.test("issuer sign-in: its session needs no second factor here, and ends with the user and the issuer's client", async () => {
  const { world, issuer } = await open();
  await using _ = world;
  const owner = await world.signUp();
  const member = await world.join(owner, ["operator"]);
  const required = await world.app.store.get(organizations, SYSTEM, owner.org);
  await world.app.store.transact((tx) =>
    tx.put(organizations, SYSTEM, { ...required!, require_second_factor: true })
  );
  issuer.metadata = { token_endpoint_auth_methods_supported: ["client_secret_post"] };
  const page = async () => ({
    ...OWN_PAGE,
    cookie: sessionIn(await enter({ world, issuer }, verified(member))),
  });
  const first = await page();
  ok((await infoBy(world, first)).body.scopes.length > 0);
  await setUser(world, member, { active: false });
  eq((await infoBy(world, first)).status, 401);
  await setUser(world, member, { active: true });
  const second = await page();
  eq((await infoBy(world, second)).status, 200);
  const started = await world.call("POST", "/api/v1/login/device", { body: { device_name: "x" } });
  const { device_code, user_code } = started.body;
  const decide = { headers: second, body: { user_code, approve: true } };
  eq((await world.call("POST", "/api/account/device-login/decide", decide)).status, 200);
  const polled = await world.call("POST", "/api/v1/login/device/token", { body: { device_code } });
  const { token } = polled.body.session;
  ok(
    (await world.call("GET", INFO, { as: token })).body.scopes.length > 0,
    "a terminal inherits it",
  );
  const elsewhere = { auth: { issuers: [{ ...ENTRY, organization: "org_other" }] } };
  for (const config of [elsewhere, {}]) {
    const { auth } = parseConfig(JSON.stringify(config));
    for (const app of world.apps) Object.assign(app.config(), { auth });
    deq(refused(await infoBy(world, second)), [401, "INVALID_TOKEN"]);
  }
  eq(await alive(world, token), false);
  deq((await world.call("GET", SESSION)).body.issuers, []);
  eq((await signIn(world, member.email, "password 1")).body.second_factor, "setup_required");
});

Deno.test("issuer sign-in: an issuer without a client is not offered, and a fresh relay says how it is claimed", async () => {
  const { client_id: _client, ...entry } = ENTRY;
  await using world = await World.open({
    config: { ...NO_LIMITS, auth: { issuers: [entry] } },
    settings: { local: false, signup: "invite" },
  });
  deq((await world.call("GET", SESSION)).body, {
    signed_in: false,
    claimed: false,
    claim_code: true,
    sign_up: "invite",
    issuers: [],
  });
  const path = `${START}?issuer=${encodeURIComponent(ISSUER)}`;
  deq(refused(await world.call("GET", path, { headers: OWN_PAGE })), [404, "NOT_FOUND"]);
  deq(world.network.sent, []);
  await using local = await World.open();
  eq((await local.call("GET", SESSION)).body.claim_code, false);
  eq((await local.call("GET", SESSION, { headers: { forwarded: "for=1" } })).body.claim_code, true);
});
