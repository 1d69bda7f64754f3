import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { SYSTEM } from "../../kv/store/collection.ts";
import { rawRows } from "../support/raw_rows.ts";
import { shared } from "../support/kv.ts";
import { World } from "../support/world.ts";
import { countedKv } from "./counted_kv.ts";

/** Three instances on one store, none of which holds an agent's link. */
async function three() {
  const { kv, calls } = countedKv(await Deno.openKv(":memory:"));
  const one = await World.open({ kv: shared(kv), sole: false });
  const open = (seed: number) =>
    World.open({ kv: shared(kv), sole: false, clock: one.clock, seed });
  const worlds = [one, await open(2), await open(3)];
  const { email, token } = await one.signUp();
  const at = (n: number) => worlds[n % worlds.length]!;
  return {
    one,
    at,
    calls,
    email,
    token,
    /** Signs in at one of the instances. */
    logIn: (n: number, who: string, password: string) =>
      at(n).call("POST", "/api/v1/login", { body: { email: who, password } }),
    async [Symbol.asyncDispose]() {
      for (const world of worlds.reverse()) await world[Symbol.asyncDispose]();
      kv.close();
    },
  };
}

Deno.test("instances: of thirteen wrong sign-ins at three instances ten are checked, known email or not", async () => {
  await using cluster = await three();
  for (const who of [cluster.email, "nobody@example.com"]) {
    const statuses = [];
    for (let n = 0; n < 13; n++) statuses.push((await cluster.logIn(n, who, `wrong ${n}`)).status);
    deq(statuses, [...Array(10).fill(401), ...Array(3).fill(429)]);
  }
  await cluster.one.advance(15 * 60_000);
  eq((await cluster.logIn(1, cluster.email, "password 1")).status, 200);
});

Deno.test("instances: of concurrent guesses at three instances ten are checked", async () => {
  await using cluster = await three();
  const guesses = Array.from({ length: 15 }, (_, n) => cluster.logIn(n, cluster.email, `${n}`));
  const statuses = (await Promise.all(guesses)).map(({ status }) => status).sort();
  deq(statuses, [...Array(10).fill(401), ...Array(5).fill(429)]);
});

Deno.test("instances: a sign-in clears the failures at other instances and leaves no row", async () => {
  await using cluster = await three();
  for (let n = 0; n < 9; n++) await cluster.logIn(n, cluster.email, "wrong");
  eq((await cluster.logIn(1, cluster.email, "password 1")).status, 200);
  deq(
    await rawRows(cluster.one.kv, { org: SYSTEM.org, space: "live", kind: "secret_attempts" }),
    [],
  );
  for (let n = 0; n < 10; n++) eq((await cluster.logIn(n, cluster.email, "wrong")).status, 401);
  eq((await cluster.logIn(0, cluster.email, "wrong")).status, 429);
});

Deno.test("instances: a refused sign-in writes nothing", async () => {
  await using cluster = await three();
  for (let n = 0; n < 10; n++) await cluster.logIn(n, cluster.email, "wrong");
  await cluster.one.settle();
  const { commits } = cluster.calls;
  eq((await cluster.logIn(1, cluster.email, "password 1")).status, 429);
  eq(cluster.calls.commits, commits);
});

Deno.test("instances: wrong pairing codes count over all instances, also after a right one", async () => {
  await using cluster = await three();
  const { body } = await cluster.one.call("POST", "/api/devices/pairing-codes", {
    as: cluster.token,
    body: {},
  });
  const pair = (n: number, pairing_code: string) =>
    cluster.at(n).call("POST", "/api/devices/pair", {
      body: { device_name: "web-1", pairing_code },
    });
  for (let n = 0; n < 9; n++) eq((await pair(n, "AAAA-AAAA-AAAA-AAAA")).status, 400);
  eq((await pair(2, body.pairing_code)).status, 201);
  eq((await pair(0, "AAAA-AAAA-AAAA-AAAA")).status, 400);
  eq((await pair(1, "AAAA-AAAA-AAAA-AAAA")).status, 429);
});
