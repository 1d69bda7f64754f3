import { deepStrictEqual as deq, ok, rejects, strictEqual as eq } from "node:assert/strict";
import { SYSTEM } from "../../kv/store/collection.ts";
import { organizations } from "../../kv/records/organization.ts";
import { users } from "../../kv/records/user.ts";
import { Fault, type FaultCode } from "../../core/fault/fault.ts";
import { deriveHash, formatHash, type Recipe } from "../../core/ports/password_hash.ts";
import { needsRehash } from "../../core/access/sign_in/passwords.ts";
import { shared } from "../support/kv.ts";
import { World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const SOMEBODY = {
  key: "somebody",
  of: { type: "user", id: "usr_1" },
  whose: "at the password of this user",
} as const;
const PUBLIC = { local: false, signup: "open" } as const;

const person = (n: number, more: Record<string, unknown> = {}) => ({
  email: `person${n}@example.com`,
  password: `password ${n}`,
  organization: `Organization ${n}`,
  ...more,
});

function signUp(world: World, n: number, more: Record<string, unknown> = {}) {
  return world.call("POST", "/api/v1/signup", { body: person(n, more) });
}

function logIn(world: World, email: string, password: string, from = "192.0.2.1") {
  return world.call("POST", "/api/v1/login", { body: { email, password }, from });
}

async function rowsOf(world: World, collection: string): Promise<unknown[]> {
  const rows = [];
  for (const { value, kind } of await rawRows(world.kv)) {
    if (kind === collection) rows.push(value);
  }
  return rows;
}

Deno.test("signup: on a reachable server the first signup needs the claim code, later ones do not", async () => {
  await using world = await World.open({ settings: PUBLIC });
  const code = world.running.claimCode!;
  for (const claim_code of [undefined, "", "claim_wrong", code.slice(0, -1), `${code}x`]) {
    const answer = await signUp(world, 1, { claim_code });
    deq([answer.status, answer.body.error.code], [403, "FORBIDDEN"]);
  }
  deq(await rowsOf(world, "users"), []);
  eq((await signUp(world, 1, { claim_code: code })).status, 201);
  eq((await signUp(world, 2)).status, 201);
});

Deno.test("signup: the claim code is the same at every start and on every instance until it is used", async () => {
  const kv = await Deno.openKv(":memory:");
  const first = await World.open({ settings: PUBLIC, kv: shared(kv) });
  const code = first.running.claimCode!;
  ok(/^claim_[0-9A-Za-z]{21}$/.test(code));
  await using world = await World.open({ settings: PUBLIC, kv, seed: 2 });
  eq(world.running.claimCode, code);
  eq((await signUp(first, 1, { claim_code: code })).status, 201);
  await first[Symbol.asyncDispose]();
  await using after = await World.open({ settings: PUBLIC, kv: shared(kv), seed: 3 });
  eq(after.running.claimCode, null);
});

Deno.test("signup: a server that only this machine reaches needs no claim code", async () => {
  await using world = await World.open();
  eq(world.running.claimCode, null);
  eq((await signUp(world, 1)).status, 201);
});

Deno.test("signup: of two concurrent first ones exactly one becomes the host, and the mode decides about the other", async () => {
  const closed = { signup: "closed" } as const;
  for (const settings of [{}, PUBLIC, closed, { ...PUBLIC, ...closed }]) {
    await using world = await World.open({ settings });
    const claim_code = world.running.claimCode ?? undefined;
    const answers = await Promise.all([1, 2].map((n) => signUp(world, n, { claim_code })));
    const hosts = (await rowsOf(world, "organizations") as { host: boolean }[])
      .filter(({ host }) => host);
    eq(hosts.length, 1);
    const statuses = answers.map(({ status }) => status).sort();
    deq(statuses, "signup" in settings && settings.signup === "closed" ? [201, 403] : [201, 201]);
  }
});

Deno.test("signup: an email signs up once, in any spelling and under concurrency", async () => {
  await using world = await World.open();
  await signUp(world, 1);
  for (const email of ["person1@example.com", "PERSON1@Example.COM", "  person1@example.com "]) {
    const answer = await signUp(world, 1, { email });
    deq([answer.status, answer.body.error.code], [409, "CONFLICT"]);
  }
  const twins = await Promise.all([signUp(world, 2), signUp(world, 2)]);
  deq(twins.map(({ status }) => status).sort(), [201, 409]);
  eq((await rowsOf(world, "users")).length, 2);
  eq((await rowsOf(world, "organizations")).length, 2);
  eq((await logIn(world, "Person1@EXAMPLE.com", "password 1")).status, 200);
});

Deno.test("signup: after the first organization the mode decides who may make another", async () => {
  for (const [signup, status] of [["open", 201], ["invite", 403], ["closed", 403]] as const) {
    await using world = await World.open({ settings: { signup } });
    eq((await signUp(world, 1)).status, 201);
    eq((await signUp(world, 2)).status, status, signup);
    eq((await rowsOf(world, "users")).length, status === 201 ? 2 : 1);
  }
});

Deno.test("signup and login: answer the token, its user and its expiry, and no secret", async () => {
  await using world = await World.open();
  for (
    const answer of [
      await signUp(world, 1),
      await logIn(world, "person1@example.com", "password 1"),
    ]
  ) {
    const { token, refresh_token, user, organization, ...rest } = answer.body;
    eq(token.split(".").length, 3);
    ok(refresh_token.startsWith(`rrt_${organization.id}.`));
    deq(rest, {
      token_type: "Bearer",
      expires_at: "2030-01-01T01:00:00.000Z",
      refresh_expires_at: "2030-01-31T00:00:00.000Z",
    });
    deq(user, { id: user.id, email: "person1@example.com", role: "owner" });
    deq(organization, { id: organization.id, name: "Organization 1" });
    ok(!answer.text.includes("argon2") && !answer.text.includes("password"));
    eq(answer.headers.get("cache-control"), "no-store");
  }
});

Deno.test("signup: short or long passwords and invalid emails create nothing", async () => {
  await using world = await World.open();
  for (const password of ["", "seven77", "x".repeat(257)]) {
    const answer = await signUp(world, 1, { password });
    eq(answer.status, 400);
    eq(answer.body.error.details.issues[0].path, "body.password");
    ok(!answer.text.includes(password) || password === "");
  }
  const long = ["x".repeat(250), "x".repeat(65)].map((name) => `${name}@example.com`);
  for (const email of ["nobody", "a@b", "", "a@b-.com", ...long]) {
    const { issues } = (await signUp(world, 1, { email })).body.error.details;
    deq(issues.map(({ path }: { path: string }) => path), ["body.email"]);
  }
  deq(await rowsOf(world, "users"), []);
});

Deno.test("login: an account whose email is longer than new ones may be still signs in", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const email = `${"x".repeat(65)}@example.com`;
  const tenant = { org: owner.org, space: "live" } as const;
  await world.app.store.transact(async (tx) => {
    tx.put(users, tenant, { ...(await tx.get(users, tenant, owner.userId))!, email });
  });
  eq((await logIn(world, email, "password 1")).status, 200);
});

Deno.test("login: an unknown user and a wrong password get the same answer", async () => {
  await using world = await World.open();
  await signUp(world, 1);
  const wrong = await logIn(world, "person1@example.com", "password 2");
  const unknown = await logIn(world, "nobody@example.com", "password 2");
  for (const answer of [wrong, unknown]) {
    eq(answer.status, 401);
    delete answer.body.error.details.request_id;
  }
  deq(wrong.body, unknown.body);
});

Deno.test("login: every attempt is recorded with its address", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  await logIn(world, owner.email, "wrong one", "198.51.100.7");
  await world.settle();
  await logIn(world, owner.email, "password 1", "198.51.100.8");
  const { body } = await world.call("GET", "/api/audit?limit=2", { as: owner.token });
  const told = body.events.map((event: { event_type: string; details: unknown }) => [
    event.event_type,
    event.details,
  ]);
  deq(told, [
    ["user_login", { email: owner.email, address: "198.51.100.8", second_factor: "none" }],
    ["user_login_failed", { email: owner.email, address: "198.51.100.7", wrong: "password" }],
  ]);
});

Deno.test("login: ten failures from an address lock it out, until the clock or a success forgives", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  const fail = (from?: string) => logIn(world, email, "wrong password", from);
  for (let n = 0; n < 9; n++) eq((await fail()).status, 401);
  eq((await logIn(world, email, "password 1")).status, 200);
  // Forgiven: ten more are counted from nought.
  for (let n = 0; n < 10; n++) eq((await fail()).status, 401);
  const locked = await logIn(world, email, "password 1");
  deq([locked.status, locked.body.error.code], [429, "RATE_LIMIT_EXCEEDED"]);
  deq([locked.body.error.details.scope, locked.headers.get("retry-after")], ["login", "900"]);
  eq((await logIn(world, email.toUpperCase(), "password 1")).status, 429);
  eq((await logIn(world, email, "password 1", "198.51.100.9")).status, 200);
  await world.advance(15 * 60_000 - 1);
  eq((await logIn(world, email, "password 1")).status, 429);
  await world.advance(1);
  eq((await logIn(world, email, "password 1")).status, 200);
});

Deno.test("login: all addresses of an IPv6 client's /64 share their failures", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  for (let n = 0; n < 10; n++) {
    eq((await logIn(world, email, "wrong password", `2001:db8::${n}`)).status, 401);
  }
  eq((await logIn(world, email, "password 1", "2001:db8::ffff:1")).status, 429);
  eq((await logIn(world, email, "password 1", "2001:db8:0:1::1")).status, 200);
});

Deno.test("login: a hash of another cost is replaced once, and the password stays", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { store } = world.app;
  const tenant = { org: owner.org, space: "live" } as const;
  const hashed = async () => (await store.get(users, tenant, owner.userId))!.password;
  const cheap: Recipe = {
    algorithm: "argon2id",
    memoryKib: 1024,
    passes: 1,
    lanes: 1,
    salt: new Uint8Array(16),
  };
  const old = formatHash({ recipe: cheap, hash: await deriveHash("password 1", cheap) });
  await store.transact(async (tx) => {
    tx.put(users, tenant, { ...(await tx.get(users, tenant, owner.userId))!, password: old });
  });
  eq((await logIn(world, owner.email, "wrong password")).status, 401);
  eq(await hashed(), old);
  eq((await logIn(world, owner.email, "password 1")).status, 200);
  const fresh = await hashed();
  deq([fresh === old, needsRehash(fresh, world.app.ports)], [false, false]);
  eq((await logIn(world, owner.email, "password 1")).status, 200);
  eq(await hashed(), fresh);
});

Deno.test("login: unfinished attempts are not failures, but count towards the maximum", async () => {
  await using world = await World.open();
  const { logins } = world.app.signIn;
  const wrong = () => logins.attempt(SOMEBODY, () => Promise.reject(new Fault("INVALID_LOGIN")));
  const refusal = (retry_after: number) => (error: unknown) => {
    const { code, details } = error as Fault;
    deq([code, details.scope, details.retry_after], ["RATE_LIMIT_EXCEEDED", "login", retry_after]);
    deq([details.of, details.raise], [SOMEBODY.of, null]);
    return true;
  };
  for (let n = 0; n < 4; n++) await rejects(wrong, { code: "INVALID_LOGIN" });
  const held = Promise.withResolvers<void>();
  const six = Array.from({ length: 6 }, () => logins.attempt(SOMEBODY, () => held.promise));
  await rejects(wrong, refusal(1));
  held.resolve();
  await Promise.all(six);
  for (let n = 0; n < 10; n++) await rejects(wrong, { code: "INVALID_LOGIN" });
  await rejects(wrong, refusal(900));
});

Deno.test("login: of eleven concurrent guesses ten are checked", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  const guesses = Array.from({ length: 11 }, (_, n) => logIn(world, email, `guess number ${n}`));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status).sort();
  deq(statuses, [...Array(10).fill(401), 429]);
});

Deno.test("login: an attempt that was refused because too many wait is not a failure", async () => {
  await using world = await World.open();
  const trying = (code: FaultCode) =>
    rejects(
      world.app.signIn.logins.attempt(SOMEBODY, () => Promise.reject(new Fault(code))),
      { code },
    );
  for (let n = 0; n < 20; n++) await trying("UNAVAILABLE");
  for (let n = 0; n < 10; n++) await trying("INVALID_LOGIN");
  const late = world.app.signIn.logins.attempt(SOMEBODY, () => Promise.resolve());
  await rejects(late, { code: "RATE_LIMIT_EXCEEDED" });
  // A crowd at the gate: whoever waits or is sent away comes in when it has gone, however often.
  const { email } = await world.signUp();
  const { deriveBits } = crypto.subtle;
  const { promise: gone, resolve: go } = Promise.withResolvers<void>();
  crypto.subtle.deriveBits = async (...hash: Parameters<typeof deriveBits>) => {
    await gone;
    return await deriveBits.apply(crypto.subtle, hash);
  };
  try {
    const crowd = Array.from(
      { length: 200 },
      (_, n) => logIn(world, `nobody${n}@example.com`, "x"),
    );
    const tries = Array.from({ length: 10 }, () => logIn(world, email, "password 1"));
    eq((await Promise.race([...crowd, ...tries])).status, 503);
    go();
    await Promise.all([...crowd, ...tries]);
  } finally {
    crypto.subtle.deriveBits = deriveBits;
  }
  eq((await logIn(world, email, "password 1")).status, 200);
});

Deno.test("email: a character that becomes ASCII only in lower case does not match somebody's email", async () => {
  await using world = await World.open();
  await signUp(world, 1, { email: "kelvin@example.com" });
  const other = await logIn(world, "\u212Aelvin@example.com", "password 1");
  deq([other.status, other.body.error.details.issues[0].path], [400, "body.email"]);
  eq((await signUp(world, 2, { email: "\u212Aelvin2@example.com" })).status, 400);
});

Deno.test("login: an inactive user or organization is refused", async () => {
  await using world = await World.open();
  const owner = await world.signUp();
  const { store } = world.app;
  const tenant = { org: owner.org, space: "live" } as const;
  const set = (active: { user: boolean; org: boolean }) =>
    store.transact(async (tx) => {
      tx.put(users, tenant, {
        ...(await tx.get(users, tenant, owner.userId))!,
        active: active.user,
      });
      const org = (await tx.get(organizations, SYSTEM, owner.org))!;
      tx.put(organizations, SYSTEM, { ...org, active: active.org });
    });
  for (const state of [{ user: false, org: true }, { user: true, org: false }]) {
    await set(state);
    const answer = await logIn(world, owner.email, "password 1");
    deq([answer.status, answer.body.error.code], [401, "INVALID_LOGIN"]);
  }
  await set({ user: true, org: true });
  eq((await logIn(world, owner.email, "password 1")).status, 200);
});

Deno.test("account info: shows a user and a key their identity and their rights now", async () => {
  await using world = await World.open();
  const host = await world.signUp();
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read", "audit:read"]);
  const info = (as: string, headers = {}) =>
    world.call("GET", "/api/account/info", { as, headers });
  const user = (await info(owner.token)).body;
  deq(user.organization, {
    id: owner.org,
    name: "Organization 2",
    plan: "starter",
    host: false,
    created_at: "2030-01-01T00:00:00.000Z",
  });
  deq([user.user.email, user.user.roles], [owner.email, ["owner"]]);
  deq(user.credential, { type: "jwt", id: owner.userId });
  eq(user.scopes.length, 16);
  const { credential, scopes, space } = (await info(key.value)).body;
  deq(credential, { type: "api_key", id: key.id });
  deq([scopes, space], [["agents:read", "audit:read"], "live"]);
  eq((await info(owner.token, { "x-relay-space": "test" })).body.space, "test");
  eq((await info(key.value, { "x-relay-space": "test" })).body.space, "live");
  eq((await info(owner.token, { "x-relay-space": "both" })).status, 400);
  eq((await info(host.token)).body.organization.host, true);
});
