import { ok, strictEqual as eq } from "node:assert/strict";
import { random } from "../support/random.ts";
import { type Answer, World } from "../support/world.ts";

const secondsOf = ({ headers }: Answer): number => Number(headers.get("retry-after"));

Deno.test("limits: Retry-After is exact to the second for every limit", async () => {
  const refused = new Set<string>();
  for (let seed = 1; seed <= 8; seed++) {
    const dice = random(seed);
    const live = {
      requests_per_minute: 5 + dice.below(10),
      burst_per_10_seconds: 3 + dice.below(5),
      max_concurrent: null,
    };
    const plans = { enterprise: { requests_per_minute: 15 + dice.below(10) } };
    await using world = await World.open({
      config: { limits: { live, public_per_minute: 4 }, plans },
    });
    const owner = await world.signUp();
    const keys = [await world.key(owner, ["agents:read"]), await world.key(owner, ["agents:read"])];
    const ask = async (as: string | undefined) =>
      await world.call("GET", as === undefined ? "/.well-known/jwks.json" : "/api/v1/agents", {
        as,
      });
    for (let step = 0; step < 100; step++) {
      const as = dice.pick([keys[0]!.value, keys[1]!.value, undefined]);
      world.clock.nowMs += dice.below(900);
      const answer = await ask(as);
      if (answer.status !== 429 || dice.chance(0.5)) continue;
      refused.add(answer.body.error.details.scope);
      const seconds = secondsOf(answer);
      world.clock.nowMs += (seconds - 1) * 1000;
      const early = await ask(as);
      eq(early.status, 429, `seed ${seed}, step ${step}`);
      eq(secondsOf(early), 1);
      world.clock.nowMs += 1000;
      eq((await ask(as)).status, 200, `seed ${seed}, step ${step}: ${answer.text}`);
    }
  }
  for (const scope of ["burst", "key", "organization", "address"]) ok(refused.has(scope), scope);
});

Deno.test("login: Retry-After is exact to the second", async () => {
  await using world = await World.open();
  const { email } = await world.signUp();
  const login = (password: string) =>
    world.call("POST", "/api/v1/login", { body: { email, password } });
  world.clock.nowMs += 1;
  for (let n = 0; n < 10; n++) {
    eq((await login("a wrong password")).status, 401);
    world.clock.nowMs += 777;
  }
  const seconds = secondsOf(await login("password 1"));
  world.clock.nowMs += (seconds - 1) * 1000;
  eq(secondsOf(await login("password 1")), 1);
  world.clock.nowMs += 1000;
  eq((await login("password 1")).status, 200);
});
