import { deepStrictEqual as deq, match, ok, strictEqual as eq } from "node:assert/strict";
import { SESSION_IDLE_MS, SESSION_MAX_MS } from "../../../core/access/sign_in/refresh_token.ts";
import type { Settings } from "../../../core/context/settings.ts";
import { openMemoryStore } from "../../cluster/shared_store.ts";
import { NO_LIMITS } from "../../support/no_limits.ts";
import { StreamClient } from "../../support/stream.ts";
import { type Account, OWN_PAGE, World } from "../../support/world.ts";
import { alive, codeOf, enrol, refused } from "../account_fixtures.ts";
import {
  cookieIn,
  found,
  type Headers,
  INFO,
  infoBy,
  PASSWORD,
  SESSION,
  signedIn,
  signIn,
  stored,
} from "./console_fixtures.ts";

const SETTINGS = "/api/account/settings";
const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;
const HTTPS = { publicUrl: "https://relay.example", local: false };

/** A request to this URL, as a browser sends it. */
function browse(world: World, method: string, url: string, headers: Headers, body?: unknown) {
  const json = { "content-type": "application/json", ...headers };
  const text = body === undefined ? null : JSON.stringify(body);
  return world.send(new Request(url, { method, headers: json, body: text }));
}

/** What requests of foreign pages look like: to a relay at http://localhost. */
const FOREIGN: readonly Headers[] = [
  {},
  { origin: "http://localhost" },
  { "sec-fetch-site": "same-origin" },
  { origin: "http://localhost", "sec-fetch-site": "none" },
  { origin: "http://localhost", "sec-fetch-site": "same-site" },
  { origin: "http://localhost", "sec-fetch-site": "cross-site" },
  { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
  { origin: "http://localhost:3000", "sec-fetch-site": "same-origin" },
  { origin: "http://127.0.0.1", "sec-fetch-site": "same-origin" },
  { origin: "https://localhost", "sec-fetch-site": "same-origin" },
  { origin: "https://evil.example", "sec-fetch-site": "cross-site" },
  { origin: "null", "sec-fetch-site": "same-origin" },
];

Deno.test("console session: the cookie is the only place of the credential, and no script, log or store has it", async () => {
  await using world = await World.open();
  const { email, token } = await world.signUp();
  const answer = await signIn(world, email);
  deq([answer.status, answer.headers.get("cache-control")], [200, "no-store"]);
  const endsAt = new Date(world.clock.nowMs + SESSION_IDLE_MS).toISOString();
  deq(answer.body, { expires_at: endsAt });
  const [pair, ...attributes] = answer.headers.get("set-cookie")!.split("; ");
  deq(attributes, ["Path=/", `Max-Age=${SESSION_MAX_MS / 1000}`, "HttpOnly", "SameSite=Strict"]);
  const [name, value] = pair!.split("=");
  eq(name, "relay_session_80");
  const page = { ...OWN_PAGE, cookie: pair! };
  const said = [answer.text];
  for (const [method, path] of [["GET", INFO], ["PUT", "/api/v1/roles"], ["GET", "/nothing"]]) {
    said.push((await world.call(method!, path!, { headers: page })).text);
  }
  said.push((await world.call("GET", "/api/account/sessions", { headers: page })).text);
  said.push((await world.call("GET", "/api/audit?limit=200", { as: token })).text);
  said.push(JSON.stringify(world.logged), ...await stored(world));
  const secret = value!.split(".").at(-1)!;
  eq(said.filter((text) => text.includes(secret)).length, 0);
});

Deno.test("console session: the cookie counts as its user, for reads, changes, refusals and the test space", async () => {
  await using world = await World.open();
  const { page, userId, email } = await signedIn(world);
  const { body } = await infoBy(world, page);
  deq([body.user.email, body.space], [email, "live"]);
  const testSpace = { ...page, "x-relay-space": "test" };
  eq((await infoBy(world, testSpace)).body.space, "test");
  const change = { headers: page, body: { language: "cs" } };
  eq((await world.call("PUT", SETTINGS, change)).body.language, "cs");
  const inTest = { headers: testSpace, body: { language: "fr" } };
  deq(refused(await world.call("PUT", SETTINGS, inTest)), [403, "FORBIDDEN"]);
  const trail = await world.call("GET", "/api/audit?limit=200", { headers: page });
  const changed = trail.body.events.find((event: { event_type: string }) =>
    event.event_type === "account_settings_changed"
  );
  eq(changed.actor, userId);
  const others = [`other=1; ${page.cookie}`, `${page.cookie}; other=relay_session_80=2`];
  for (const cookie of others) eq((await infoBy(world, { cookie })).status, 200, cookie);
});

Deno.test("console session: a page of another origin neither signs in nor changes anything", async () => {
  await using world = await World.open({ settings: { local: false } });
  const { email, page } = await signedIn(world);
  const before = await stored(world);
  for (const foreign of FOREIGN) {
    const about = JSON.stringify(foreign);
    const body = { email, password: PASSWORD };
    const entered = await world.call("POST", SESSION, { headers: foreign, body });
    deq(refused(entered), [403, "FORBIDDEN"], about);
    eq(entered.headers.get("set-cookie"), null);
    const headers = { ...foreign, cookie: page.cookie! };
    for (
      const [method, path, sent] of [
        ["PUT", SETTINGS, { language: "fr" }],
        ["POST", "/api/v1/api-keys", { name: "a", scopes: ["agents:read"] }],
        ["POST", "/api/account/device-login", { user_code: "7K3M-QX1D" }],
        ["DELETE", SESSION, undefined],
      ] as const
    ) {
      const answer = await world.call(method, path, { headers, body: sent });
      deq(refused(answer), [403, "FORBIDDEN"], `${method} ${path} ${about}`);
      match(answer.body.error.message, /own pages|pages of http:\/\/localhost/);
    }
  }
  deq(await stored(world), before);
  eq((await world.call("PUT", SETTINGS, { headers: page, body: { language: "fr" } })).status, 200);
});

Deno.test("console session: a GET that runs a command needs the relay's own page, other GETs no foreign one", async () => {
  await using world = await World.open({ settings: { local: false } });
  const { cookie } = await signedIn(world);
  const ask = async (path: string, site: string | null, more: Headers = {}) => {
    const headers = { cookie, ...more, ...(site !== null && { "sec-fetch-site": site }) };
    return (await world.call("GET", path, { headers })).status;
  };
  const run = "/api/exec/web-1?command=ls";
  for (const site of [null, "none", "same-site", "cross-site"]) eq(await ask(run, site), 403);
  eq(await ask(run, "same-origin"), 404, "there is no such agent");
  eq(await ask(run, "same-origin", { origin: "http://localhost:3000" }), 403);
  for (const site of [null, "none", "same-origin"]) eq(await ask(INFO, site), 200);
  for (const site of ["same-site", "cross-site"]) eq(await ask(INFO, site), 403);
  eq(await ask(INFO, null, { origin: "http://localhost:3000" }), 403);
  eq((await world.raw("HEAD", INFO, { headers: { cookie } })).status, 200);
  // Chromium opens a WebSocket with an Origin and without Sec-Fetch-Site.
  const upgrade = { upgrade: "websocket" };
  const origin = "http://localhost";
  eq(await ask("/ws", null, upgrade), 403);
  eq(await ask("/ws", "same-origin", upgrade), 403);
  eq(await ask("/ws", null, { ...upgrade, origin: `${origin}:3000` }), 403);
  eq(await ask("/ws", "same-site", { ...upgrade, origin }), 403);
  eq(await ask("/ws", null, { ...upgrade, origin }), 400, "not a whole handshake, but admitted");
});

Deno.test("console session: over HTTPS the name begins with __Host-, and plain HTTP beyond loopback is refused", async () => {
  await using world = await World.open({ settings: HTTPS });
  const { email } = await found(world);
  const body = { email, password: PASSWORD };
  const page = { origin: "https://relay.example", "sec-fetch-site": "same-origin" };
  // A proxy that ends TLS may pass any Host on.
  const answer = await browse(world, "POST", `http://10.0.0.7:9080${SESSION}`, page, body);
  eq(answer.status, 200, await answer.clone().text());
  const said = answer.headers.get("set-cookie")!;
  match(said, /^__Host-relay_session_443=rsc_\S+; Path=\/; Max-Age=7776000; Secure; HttpOnly; /);
  match(said, /; SameSite=Strict$/);
  const cookie = said.split(";")[0]!;
  eq((await infoBy(world, { ...page, cookie })).status, 200);
  const bare = cookie.replace("__Host-relay_session_443", "relay_session_80");
  eq((await infoBy(world, { ...page, cookie: bare })).status, 401);
  const unbound = cookie.replace("__Host-", "");
  eq((await infoBy(world, { ...page, cookie: unbound })).status, 401);

  for (
    const [settings, url, origin] of [
      [HTTPS, "http://10.0.0.7:9080", "http://10.0.0.7:9080"],
      [{ local: false }, "http://10.0.0.7:9080", "http://10.0.0.7:9080"],
      [{ local: false }, "http://relay.lan", null],
      [{ ...HTTPS, publicUrl: "http://relay.lan" }, "http://relay.lan", "http://relay.lan"],
    ] as [Partial<Settings>, string, string | null][]
  ) {
    await using other = await World.open({ settings });
    const { email } = await found(other);
    const before = await stored(other);
    // Browsers send no Sec-Fetch-Site to such a server.
    const sent = origin === null ? {} : { origin };
    const refusal = await browse(other, "POST", url + SESSION, sent, { email, password: PASSWORD });
    const { error } = await refusal.json();
    deq([refusal.status, error.code], [403, "FORBIDDEN"], url);
    match(error.message, /^HTTPS needed: .*RELAY_PUBLIC_URL/);
    deq(await stored(other), before);
  }
});

Deno.test("console session: two relays on one host have cookies of different names, and do not read each other's", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  const cookies: Record<number, string> = {};
  const at = (port: number) => ({ ...OWN_PAGE, origin: `http://localhost:${port}` });
  for (const port of [9080, 9081]) {
    const url = `http://localhost:${port}${SESSION}`;
    const answer = await browse(world, "POST", url, at(port), { email, password: PASSWORD });
    cookies[port] = answer.headers.get("set-cookie")!.split(";")[0]!;
    ok(cookies[port].startsWith(`relay_session_${port}=`));
  }
  const read = async (port: number, cookie: string) => {
    const url = `http://localhost:${port}${INFO}`;
    const answer = await browse(world, "GET", url, { ...at(port), cookie });
    await answer.text();
    return answer.status;
  };
  eq(await read(9080, cookies[9081]!), 401);
  for (const port of [9080, 9081]) {
    eq(await read(port, `${cookies[9081]}; ${cookies[9080]}`), 200);
  }
});

Deno.test("console session: another credential wins over the cookie, and the cookie's value is none", async () => {
  await using world = await World.open();
  const first = await signedIn(world);
  const other = await world.signUp();
  const { value } = await world.key(other, ["agents:read"]);
  const { cookie } = first;
  for (
    const headers of [{ cookie, authorization: `Bearer ${value}` }, { cookie, "x-api-key": value }]
  ) {
    eq((await infoBy(world, headers)).body.organization.id, other.org);
  }
  const foreign = {
    cookie,
    authorization: `Bearer ${other.token}`,
    "sec-fetch-site": "cross-site",
  };
  await using hosted = await World.open({ settings: { local: false } });
  const { token } = await found(hosted);
  const change = {
    headers: { ...foreign, authorization: `Bearer ${token}` },
    body: { language: "fr" },
  };
  eq((await hosted.call("PUT", SETTINGS, change)).status, 200, "a token needs no own page");
  eq((await infoBy(world, { cookie, authorization: "Bearer wrong" })).status, 401);
  const text = cookie.split("=")[1]!;
  eq((await infoBy(world, { authorization: `Bearer ${text}` })).status, 401);
  eq((await infoBy(world, { "x-api-key": text })).status, 401);
  const mac = text.at(-1) === "A" ? "B" : "A";
  for (
    const wrong of ["", "x", `${text}x`, text.slice(0, -1) + mac, text.replace("rsc_", "rrt_")]
  ) {
    const answer = await infoBy(world, { cookie: `relay_session_80=${wrong}` });
    deq(refused(answer), [401, "INVALID_TOKEN"], wrong);
  }
});

Deno.test("console session: use moves its end, once an hour at most, until 90 days after the sign-in", async () => {
  await using world = await World.open();
  const begunMs = world.clock.nowMs;
  const { page, token } = await signedIn(world);
  const refreshes = async (headers: Headers) => {
    const { body } = await world.call("GET", "/api/audit?limit=200", { headers });
    return body.events.filter((event: { event_type: string }) =>
      event.event_type === "session_refreshed"
    ).length;
  };
  for (let n = 0; n < 3; n++) eq((await infoBy(world, page)).status, 200);
  world.clock.nowMs += HOUR_MS - 1;
  await Promise.all(Array.from({ length: 5 }, () => infoBy(world, page)));
  eq(await refreshes(page), 0);
  world.clock.nowMs += 1;
  await Promise.all(Array.from({ length: 5 }, () => infoBy(world, page)));
  eq(await refreshes(page), 1);
  eq(await alive(world, token), false, "the JWT of the sign-up lasts an hour");
  for (let days = 29; days < 90; days += 29) {
    world.clock.nowMs = begunMs + days * DAY_MS;
    eq((await infoBy(world, page)).status, 200, `day ${days}`);
  }
  const before = await refreshes(page);
  world.clock.nowMs = begunMs + SESSION_MAX_MS - 1;
  eq((await infoBy(world, page)).status, 200);
  eq(await refreshes(page), before, "the end cannot move any further");
  world.clock.nowMs += 1;
  deq(refused(await infoBy(world, page)), [401, "INVALID_TOKEN"]);
});

Deno.test("console session: it ends 30 days after its last use", async () => {
  await using world = await World.open();
  const { page } = await signedIn(world);
  world.clock.nowMs += SESSION_IDLE_MS;
  const answer = await infoBy(world, page);
  deq([...refused(answer), answer.body.error.details.reason], [401, "INVALID_TOKEN", "ended"]);
});

Deno.test("console session: a sign-out ends this session or all, deletes the cookie, and is audited", async () => {
  await using world = await World.open();
  const { page, email, token } = await signedIn(world);
  const second = { ...OWN_PAGE, cookie: cookieIn(await signIn(world, email)) };
  const third = { ...OWN_PAGE, cookie: cookieIn(await signIn(world, email)) };
  const out = await world.call("DELETE", SESSION, {
    headers: { ...page, "x-relay-space": "test" },
  });
  deq([out.status, out.text], [204, ""]);
  eq(
    out.headers.get("set-cookie"),
    "relay_session_80=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict",
  );
  eq((await infoBy(world, page)).status, 401);
  eq((await infoBy(world, second)).status, 200);
  const { value } = await world.key({ token } as Account, ["agents:read"]);
  deq(refused(await world.call("DELETE", SESSION, { as: value })), [403, "FORBIDDEN"]);
  const stranger = await world.signUp();
  eq((await world.call("DELETE", `${SESSION}?everywhere=true`, { headers: second })).status, 204);
  for (const headers of [second, third]) eq((await infoBy(world, headers)).status, 401);
  deq([await alive(world, token), await alive(world, stranger.token)], [false, true]);
  const last = { ...OWN_PAGE, cookie: cookieIn(await signIn(world, email)) };
  const { body } = await world.call("GET", "/api/audit?limit=200", { headers: last });
  const ended = body.events.filter((event: { event_type: string }) =>
    event.event_type === "session_ended"
  );
  eq(ended.length, 4);
});

Deno.test("console session: an ended session is refused at once at every instance", async () => {
  const { opened: kv } = openMemoryStore();
  await using one = await World.open({ kv, sole: false });
  await using two = await World.open({ kv, sole: false, clock: one.clock, seed: 2 });
  const { page, token } = await signedIn(one);
  eq((await infoBy(two, page)).status, 200);
  const { body } = await two.call("GET", "/api/account/sessions", { headers: page });
  const { id } = body.sessions.find((session: { current: boolean }) => session.current);
  eq((await one.call("DELETE", `/api/account/sessions/${id}`, { as: token })).status, 204);
  for (const world of [two, one]) eq((await infoBy(world, page)).status, 401);
  eq(await alive(two, token), true);
});

Deno.test("console session: a stream ends with its session, and a deactivated user's cookie with the user", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const other = await world.join(owner, ["operator"]);
  const page = { ...OWN_PAGE, cookie: cookieIn(await signIn(world, other.email)) };
  const stream = await StreamClient.open(world, undefined, { headers: page });
  await stream.next();
  eq((await world.call("DELETE", SESSION, { headers: page })).status, 204);
  await world.advance(1_000);
  eq((await stream.next())!.data.name, "credential_ended");
  eq(await stream.next(), null);
  const again = { ...OWN_PAGE, cookie: cookieIn(await signIn(world, other.email)) };
  eq((await infoBy(world, again)).status, 200);
  const path = `/api/v1/users/${other.userId}/deactivate`;
  eq((await world.call("POST", path, { as: owner.token })).status, 200);
  deq(refused(await infoBy(world, again)), [401, "INVALID_TOKEN"]);
});

Deno.test("console session: the second factor counts, and a changed password ends other cookies", async () => {
  await using world = await World.open();
  const { email, token } = await world.signUp();
  const { secret } = await enrol(world, { token }, PASSWORD);
  const asked = await signIn(world, email);
  deq([asked.status, asked.body.error.details.reason], [401, "second_factor_required"]);
  eq(asked.headers.get("set-cookie"), null);
  world.clock.nowMs += 60_000;
  const entered = await signIn(world, email, PASSWORD, { code: codeOf(world, secret) });
  eq(entered.status, 200);
  const page = { ...OWN_PAGE, cookie: cookieIn(entered) };
  eq((await infoBy(world, page)).status, 200);
  const body = { current_password: PASSWORD, new_password: "Another-pass-1" };
  eq((await world.call("POST", "/api/account/password", { as: token, body })).status, 200);
  eq((await infoBy(world, page)).status, 401);
});

Deno.test("console session: wrong passwords, and requests with bad cookies, count as those of a sign-in do", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  for (let n = 0; n < 10; n++) {
    deq(refused(await signIn(world, email, "wrong")), [401, "INVALID_LOGIN"]);
  }
  deq(refused(await signIn(world, email)), [429, "RATE_LIMIT_EXCEEDED"]);
  const body = { email, password: PASSWORD };
  eq((await world.call("POST", "/api/v1/login", { body })).status, 429);
  const limits = { ...NO_LIMITS.limits, public_per_minute: 4 };
  for (
    const [path, headers] of [[SESSION, {}], [SETTINGS, { cookie: "relay_session_80=x" }]] as const
  ) {
    await using limited = await World.open({ config: { ...NO_LIMITS, limits } });
    for (let n = 0; n < 4; n++) {
      const answer = await limited.call(path === SESSION ? "POST" : "PUT", path, { headers, body });
      eq(answer.status, 403, answer.text);
    }
    eq(
      (await limited.call(path === SESSION ? "POST" : "PUT", path, { headers, body })).status,
      429,
    );
  }
});
