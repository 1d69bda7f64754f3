import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { makeKeyValue } from "../../core/access/keys/value.ts";
import { overKv } from "../support/kv.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { seededEntropy, World } from "../support/world.ts";
import { rawRows } from "../support/raw_rows.ts";

const MINUTE_MS = 60_000;

/** The versionstamp of everything that is stored. */
async function rows({ kv }: World): Promise<string[]> {
  const all: string[] = [];
  for (const { versionstamp } of await rawRows(kv)) all.push(versionstamp);
  return all;
}

Deno.test("limits: an organization's plan admits exactly its limit a minute, over all its credentials", async () => {
  await using world = await World.open({ config: {} });
  await world.signUp(); // the host, whose plan has no limit
  const account = await world.signUp();
  const start = Math.ceil(world.clock.nowMs / MINUTE_MS) * MINUTE_MS;
  await world.advance(start - world.clock.nowMs);
  const key = await world.key(account, ["agents:read"]);
  const seen: number[] = [];
  const left: number[] = [];
  for (let n = 0; n < 110; n++) {
    const as = n % 2 === 0 ? account.token : key.value;
    const answer = await world.call("GET", "/api/v1/agents", { as });
    seen.push(answer.status);
    left.push(Number(answer.headers.get("x-ratelimit-remaining")));
    eq(answer.headers.get("x-ratelimit-limit"), "100");
    eq(answer.headers.get("x-ratelimit-reset"), `${(start + MINUTE_MS) / 1000}`);
  }
  // Making the key took one of the hundred.
  deq(seen, [...Array(99).fill(200), ...Array(11).fill(429)]);
  deq(left.slice(0, 99), Array.from({ length: 99 }, (_, n) => 98 - n));
  const over = await world.call("GET", "/api/v1/agents", { as: key.value });
  eq(over.body.error.code, "RATE_LIMIT_EXCEEDED");
  deq(over.body.error.details.of, { type: "organization", id: account.org });
  deq(over.body.error.details.raise, {
    who: "host_owner",
    how: `PUT /api/admin/limits/${account.org}`,
  });
  eq(over.headers.get("retry-after"), "60");
  await world.advance(MINUTE_MS);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 200);
});

Deno.test("limits: a refused request writes nothing", async () => {
  await using world = await World.open({
    config: { plans: { enterprise: { requests_per_minute: 3 } } },
  });
  const account = await world.signUp();
  for (let n = 0; n < 4; n++) await world.call("GET", "/api/v1/agents", { as: account.token });
  await world.settle();
  const before = await rows(world);
  for (let n = 0; n < 20; n++) {
    eq((await world.call("GET", "/api/v1/agents", { as: account.token })).status, 429);
  }
  deq(await rows(world), before);
});

Deno.test("limits: public endpoints are limited by address, liveness is not", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 2 } } });
  const body = { email: "nobody@example.com", password: "wrong password" };
  const statuses = [];
  for (let n = 0; n < 4; n++) {
    statuses.push((await world.call("POST", "/api/v1/login", { body })).status);
  }
  deq(statuses, [401, 401, 429, 429]);
  for (let n = 0; n < 5; n++) eq((await world.call("GET", "/healthz")).status, 200);
});

Deno.test("limits: all addresses of an IPv6 client's /64 share the public limit", async () => {
  await using world = await World.open({ config: { limits: { public_per_minute: 2 } } });
  const statuses = [];
  for (const from of ["2001:db8::1", "2001:db8::2", "2001:db8::ffff:3", "2001:db8:0:1::1"]) {
    statuses.push((await world.call("GET", "/.well-known/jwks.json", { from })).status);
  }
  deq(statuses, [200, 200, 429, 200]);
});

/** A world whose live keys have these limits and no others, at the beginning of a minute. */
async function limited(live: Record<string, number>) {
  const limits = { ...NO_LIMITS.limits, live: { ...NO_LIMITS.limits.live, ...live } };
  const world = await World.open({ config: { ...NO_LIMITS, limits } });
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  await world.advance(MINUTE_MS - world.clock.nowMs % MINUTE_MS);
  return { world, owner, key };
}

Deno.test("limits: a key's burst and minute bind it together, and the one with least left is shown", async () => {
  const { world, key } = await limited({ burst_per_10_seconds: 3, requests_per_minute: 5 });
  await using _ = world;
  const startSeconds = world.clock.nowMs / 1000;
  const ask = async () => {
    const { status, headers, body } = await world.call("GET", "/api/v1/agents", { as: key.value });
    const shown = ["limit", "remaining", "reset"].map((name) =>
      Number(headers.get(`x-ratelimit-${name}`))
    );
    const [limit, remaining, reset] = shown as [number, number, number];
    return [status, limit, remaining, reset - startSeconds, body.error?.details.scope ?? null];
  };
  deq(await ask(), [200, 3, 2, 10, null]);
  deq(await ask(), [200, 3, 1, 10, null]);
  deq(await ask(), [200, 3, 0, 10, null]);
  deq(await ask(), [429, 3, 0, 10, "burst"]);
  await world.advance(10_000);
  deq(await ask(), [200, 5, 1, 60, null]);
  deq(await ask(), [200, 5, 0, 60, null]);
  deq(await ask(), [429, 5, 0, 60, "key"]);
  await world.advance(50_000);
  deq(await ask(), [200, 3, 2, 70, null]);
});

Deno.test("limits: a 429 names the limit, its reset and what to do", async () => {
  const { world, key } = await limited({ requests_per_minute: 1 });
  await using _ = world;
  await world.call("GET", "/api/v1/agents", { as: key.value });
  await world.advance(17_500);
  const { headers, body } = await world.call("GET", "/api/v1/agents", { as: key.value });
  const { request_id, ...details } = body.error.details;
  eq(request_id, headers.get("x-request-id"));
  const reset = Math.ceil(world.clock.nowMs / MINUTE_MS) * 60;
  const how = `PUT /api/admin/limits/${key.id}`;
  const whose = { of: { type: "api_key", id: key.id }, raise: { who: "host_owner", how } };
  deq(details, { limit: 1, scope: "key", ...whose, reset, retry_after: 43 });
  eq(
    body.error.message,
    "Reached the limit of 1 requests per minute for this API key. Try again in 43 s. An owner of " +
      `the host organization can raise it with ${how}.`,
  );
  deq([headers.get("retry-after"), headers.get("content-type")], ["43", "application/json"]);
});

Deno.test("limits: the plan binds all keys and users of one organization together, and nobody else", async () => {
  await using world = await World.open({
    config: { ...NO_LIMITS, plans: { enterprise: { requests_per_minute: 10 } } },
  });
  const [one, other] = [await world.signUp(), await world.signUp()];
  const keys = [];
  for (let n = 0; n < 4; n++) {
    keys.push(await world.key(one, ["agents:read"], { type: n % 2 === 0 ? "live" : "test" }));
  }
  const statuses = [];
  for (let n = 0; n < 12; n++) {
    const { status, body } = await world.call("GET", "/api/v1/agents", { as: keys[n % 4]!.value });
    statuses.push(status);
    if (status === 429) eq(body.error.details.scope, "organization");
  }
  deq(statuses, [...Array(6).fill(200), ...Array(6).fill(429)]);
  eq((await world.call("GET", "/api/v1/agents", { as: one.token })).status, 429);
  eq((await world.call("GET", "/api/v1/agents", { as: other.token })).status, 200);
});

Deno.test("limits: a request over one limit spends none of the others", async () => {
  const { world, owner, key } = await limited({ burst_per_10_seconds: 2, requests_per_minute: 50 });
  await using _ = world;
  for (let n = 0; n < 30; n++) await world.call("GET", "/api/v1/agents", { as: key.value });
  const { body } = await world.call("GET", `/api/admin/limits/${key.id}`, { as: owner.token });
  const left = (name: string) =>
    body.limits.find((limit: { scope: string }) => limit.scope === name).remaining;
  deq([left("burst"), left("key")], [0, 48]);
});

/** A world whose reads of the engine are counted. */
async function counting(config: Record<string, unknown>) {
  const engine = await Deno.openKv(":memory:");
  let reads = 0;
  const counted = <T>(answer: T): T => {
    reads++;
    return answer;
  };
  const kv = overKv(engine, {
    get: (...args) => counted(engine.get(...args)) as never,
    getMany: (...args) => counted(engine.getMany(...args)) as never,
    list: (...args) => counted(engine.list(...args)) as never,
  });
  const world = await World.open({ kv, config });
  return { world, reads: () => reads };
}

Deno.test("limits: a mistyped key is refused without reading the store, an unknown one with one read", async () => {
  const { world, reads } = await counting(NO_LIMITS);
  await using _ = world;
  const { value } = await world.key(await world.signUp(), ["agents:read"]);
  await world.settle();
  const before = reads();
  for (const at of [9, 30, value.length - 1]) {
    const other = value[at] === "0" ? "1" : "0";
    const as = value.slice(0, at) + other + value.slice(at + 1);
    const answer = await world.call("GET", "/api/v1/agents", { as });
    deq([answer.status, answer.body.error.details.reason], [401, "malformed"]);
  }
  eq(reads(), before);
  const as = makeKeyValue("live", seededEntropy(99, world.clock));
  const answer = await world.call("GET", "/api/v1/agents", { as });
  deq([answer.status, answer.body.error.details.reason], [401, "unknown"]);
  // The newest values and the rotated ones.
  eq(reads(), before + 2);
});

Deno.test("limits: guessed keys count against the address, and over its limit nothing is written", async () => {
  const config = { ...NO_LIMITS, limits: { ...NO_LIMITS.limits, public_per_minute: 4 } };
  await using world = await World.open({ config });
  const entropy = seededEntropy(98, world.clock);
  const guess = () =>
    world.call("GET", "/api/v1/agents", { as: makeKeyValue("live", entropy), from: "192.0.2.7" });
  for (let n = 0; n < 4; n++) eq((await guess()).status, 401);
  const refused = await guess();
  deq([refused.status, refused.body.error.details.scope], [429, "address"]);
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  // Who has a valid key is not held to what others at the same address guessed.
  const own = await world.call("GET", "/api/v1/agents", { as: key.value, from: "192.0.2.7" });
  eq(own.status, 200);
  await world.advance(1_000);
  const before = await rows(world);
  for (let n = 0; n < 50; n++) eq((await guess()).status, 429);
  await world.settle();
  deq(await rows(world), before);
});

Deno.test("limits: refusals of `/ws` for missing rights are limited, and over the limit nothing is recorded", async () => {
  const headers = { upgrade: "websocket", connection: "Upgrade" };
  for (const protocol of ["relay.agent.v1", "relay.events.v1"]) {
    await using world = await World.open({
      config: { plans: { enterprise: { requests_per_minute: 4 } } },
    });
    const owner = await world.signUp();
    const key = await world.key(owner, ["secrets:read"], { type: "test" });
    const knock = async () => {
      const asked = { ...headers, "sec-websocket-protocol": protocol };
      const answer = await world.raw("GET", "/ws", { as: key.value, headers: asked });
      await answer.body?.cancel();
      return [answer.status, answer.headers.get("x-ratelimit-remaining")];
    };
    // Making the key took one of the four.
    deq([await knock(), await knock(), await knock()], [[403, "2"], [403, "1"], [403, "0"]]);
    await world.settle();
    await world.advance(1_000);
    const before = await rows(world);
    for (let n = 0; n < 9; n++) deq(await knock(), [429, "0"]);
    await world.settle();
    deq(await rows(world), before);
    // No connection is kept by a refusal: a test key has three.
    await world.advance(MINUTE_MS);
    eq((await world.call("GET", `/api/v1/api-keys`, { as: key.value })).status, 200);
  }
});

Deno.test("limits: every handshake at `/ws` counts as a request, whatever its outcome, except an agent's", async () => {
  await using world = await World.open({
    config: { limits: { live: { requests_per_minute: 5 } } },
  });
  await world.signUp(); // the host, whose plan has no limit
  const owner = await world.signUp();
  const key = await world.key(owner, ["agents:read"]);
  const agents = await world.key(owner, ["agents:admin"]);
  const made = await world.call("POST", "/api/devices/pairing-codes", { as: owner.token });
  const { pairing_code } = made.body;
  const paired = { body: { device_name: "box", pairing_code } };
  const { device_id, token } = (await world.call("POST", "/api/devices/pair", paired)).body;
  const confirmed = { body: { device_id, token } };
  const { credential } = (await world.call("POST", "/api/devices/confirm", confirmed)).body;
  const knock = async (as: string, headers: Record<string, string>) => {
    const answer = await world.call("GET", "/ws", { as, headers });
    return [answer.status, answer.headers.get("x-ratelimit-remaining")];
  };
  const link = { upgrade: "websocket", "sec-websocket-protocol": "relay.agent.v1" };
  deq(await knock(key.value, {}), [426, "4"]);
  deq(await knock(key.value, { ...link, "sec-websocket-protocol": "relay.x" }), [400, "3"]);
  deq(await knock(key.value, { upgrade: "websocket" }), [400, "2"]);
  deq(await knock(key.value, link), [403, "1"]);
  deq(await knock(key.value, { upgrade: "websocket" }), [400, "0"]);
  for (const headers of [{}, link]) deq(await knock(key.value, headers), [429, "0"]);
  for (const as of [credential, agents.value]) {
    const unlimited = [400, "2147483647"]; // no real socket is below it
    for (let n = 0; n < 9; n++) deq(await knock(as, link), unlimited);
    // It may open its link, and nothing else for nothing.
    deq((await knock(as, { upgrade: "websocket" }))[0], 403);
  }
  const left = await world.app.limiter.leftOfPlan({
    id: owner.org,
    plan: "starter",
    limits: null,
    ofPlan: undefined,
  });
  eq(left.remaining, 100 - 3 - 5 - 2, "making keys and the code, and the knocks of no agent");
  await world.advance(MINUTE_MS);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 200);
});
