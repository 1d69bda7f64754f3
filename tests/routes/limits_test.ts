import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { World } from "../support/world.ts";

const MINUTE_MS = 60_000;

Deno.test("limits: an organization's plan admits exactly its limit a minute, over all its credentials", async () => {
  await using world = await World.open({ config: {} });
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
  eq(over.headers.get("retry-after"), "60");
  await world.advance(MINUTE_MS);
  eq((await world.call("GET", "/api/v1/agents", { as: key.value })).status, 200);
});

Deno.test("limits: a refused request writes nothing", async () => {
  await using world = await World.open({
    config: { plans: { starter: { requests_per_minute: 3 } } },
  });
  const account = await world.signUp();
  for (let n = 0; n < 4; n++) await world.call("GET", "/api/v1/agents", { as: account.token });
  await world.settle();
  const rows = async () => {
    const all: string[] = [];
    for await (const entry of world.kv.list({ prefix: [] })) all.push(entry.versionstamp);
    return all;
  };
  const before = await rows();
  for (let n = 0; n < 20; n++) {
    eq((await world.call("GET", "/api/v1/agents", { as: account.token })).status, 429);
  }
  deq(await rows(), before);
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
