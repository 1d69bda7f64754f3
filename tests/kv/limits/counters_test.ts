import { deepStrictEqual as deq, ok, strictEqual as eq } from "node:assert/strict";
import type { Claim, Claims, Grant } from "../../../kv/limits/counters.ts";
import { random } from "../../support/random.ts";
import {
  CountersWorld,
  MINUTE_MS,
  someClaims,
  subset,
  TEN_SECONDS_MS,
  turn,
} from "./counters_world.ts";

const seed = Number(
  Deno.env.get("RELAY_COUNTERS_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
console.log(`counters: RELAY_COUNTERS_SEED=${seed}`);

const ROUNDS = 12;
const minute = (key: string, limit: number): Claim => ({ key, limit, windowMs: MINUTE_MS });

/** A shape of demand: how much, how dense, over which instances and limits. */
async function demand(world: CountersWorld, claims: Claims, takers: number): Promise<void> {
  const { dice, clock, all } = world;
  const together = dice.pick([1, 3, 20, takers]), pauseMs = dice.pick([0, 1, 30, 700]);
  const favourite = dice.below(all.length), skew = dice.pick([0, 0.5, 1]);
  for (let n = 0; n < takers; n++) {
    world.take(dice.chance(skew) ? favourite : dice.below(all.length), subset(dice, claims));
    if (n % together !== 0) continue;
    for (let turns = dice.below(3); turns > 0; turns--) await turn();
    clock.advance(dice.below(pauseMs + 1));
  }
  await world.settle();
}

for (const instances of [1, 2, 3, 4]) {
  Deno.test(`LeasedCounters: no window admits too many and no claim is half taken (${instances} ${instances === 1 ? "instance" : "instances"}, several limits)`, async () => {
    for (let round = 0; round < ROUNDS; round++) {
      const dice = random(seed + 1000 * instances + round);
      await using world = await CountersWorld.open(dice, { instances });
      const claims = someClaims(dice, dice.pick([3, 30, 120]));
      for (let wave = 0; wave < 3; wave++) {
        await demand(world, claims, 20 + dice.below(150));
        // Once unspent leases are given back, the store holds exactly what was admitted.
        if (instances > 1) await world.giveBack();
        for (const claim of claims) {
          const { remaining } = await world.all[dice.below(instances)]!.left(claim);
          eq(remaining, claim.limit - world.admitted(claim), `seed ${dice.seed} ${claim.key}`);
        }
        world.clock.advance(dice.below(15_000));
      }
      eq(world.failed, 0);
    }
  });
}

Deno.test("LeasedCounters: commits that fail or have an unknown outcome admit none too many", async () => {
  let failed = 0;
  for (let round = 0; round < ROUNDS; round++) {
    const dice = random(seed + 10_000 + round);
    const options = { instances: 1 + dice.below(4), faulty: true };
    await using world = await CountersWorld.open(dice, options);
    const claims = someClaims(dice, 40);
    for (let wave = 0; wave < 3; wave++) await demand(world, claims, 100);
    failed += world.failed;
  }
  ok(failed > 0, "no commit had an unknown outcome");
});

Deno.test("LeasedCounters: an evicted window's lease counts as spent", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const dice = random(seed + 20_000 + round);
    await using world = await CountersWorld.open(dice, {
      instances: 1 + dice.below(3),
      windowsMax: 2,
    });
    await demand(world, someClaims(dice, 30), 150);
  }
});

Deno.test("LeasedCounters: one instance admits exactly the limit of each window, concurrently or in turn", async () => {
  await using world = await CountersWorld.open(random(seed), { instances: 1 });
  const [counters] = world.all;
  for (const limit of [1, 2, 7, 100, 5000]) {
    for (let window = 0; window < 3; window++) {
      const claim = minute(`k${limit}`, limit);
      const asked = Array.from({ length: limit + 5 }, () => counters!.takeAll([claim]));
      const grants = await Promise.all(asked);
      eq(grants.filter(({ admitted }) => admitted).length, limit);
      eq((await counters!.takeAll([claim])).admitted, false);
      world.clock.advance(MINUTE_MS);
    }
  }
});

Deno.test("LeasedCounters: several instances admit the whole limit, whichever is asked", async () => {
  for (const [at, limit] of [[0, 1], [1, 7], [2, 100], [3, 1000]] as const) {
    await using world = await CountersWorld.open(random(seed), { instances: 4 });
    const claim = minute("k", limit);
    for (const other of [0, 1, 2, 3]) if (other !== at) world.take(other, [claim]);
    await world.settle();
    await world.giveBack();
    for (let n = 0; n < limit + 5; n++) world.take(at, [claim]);
    await world.settle();
    eq(world.admitted(claim), limit);
  }
});

Deno.test("LeasedCounters: a refusal writes nothing, whichever limits were read before", async () => {
  for (const instances of [1, 2]) {
    await using world = await CountersWorld.open(random(seed), { instances });
    const dry = minute("dry", 3), full = { ...minute("full", 9), windowMs: TEN_SECONDS_MS };
    for (let n = 0; n < 4; n++) world.take(0, [dry]);
    await world.settle();
    eq(world.admitted(dry), 3);
    await world.giveBack();
    const before = await world.rows();
    // The last instance has read neither limit.
    const last = world.all.at(-1)!;
    for (const claims of [[full, dry], [dry, full], [dry]] as [Claim, ...Claim[]][]) {
      for (let n = 0; n < 20; n++) world.take(instances - 1, claims);
      await world.settle();
    }
    world.clock.advance(100);
    const refused = last.takeAll([full, dry]);
    ok(!(refused instanceof Promise), "a known refusal is answered at once");
    deq([refused.admitted, refused.claim, refused.remaining], [false, dry, 0]);
    deq(last.refusal([full, dry]), refused);
    await turn();
    deq(await world.rows(), before);
    eq((await last.left(full)).remaining, 9);
  }
});

Deno.test("LeasedCounters: answers with the limit that has least left or, when several are dry, the one that ends last", async () => {
  await using world = await CountersWorld.open(random(seed), { instances: 1 });
  const [counters] = world.all;
  const burst = { key: "b", limit: 3, windowMs: TEN_SECONDS_MS }, key = minute("k", 5);
  const take = async (...claims: [Claim, ...Claim[]]) => {
    const { claim, remaining, admitted, resetMs }: Grant = await counters!.takeAll(claims);
    return [claim.key, remaining, admitted, resetMs - world.clock.nowMs];
  };
  deq(await take(burst, key), ["b", 2, true, 10_000]);
  deq(await take(burst, key), ["b", 1, true, 10_000]);
  deq(await take(key), ["k", 2, true, 60_000]);
  deq(await take(key), ["k", 1, true, 60_000]);
  deq(await take(burst, key), ["k", 0, true, 60_000]);
  deq(await take(burst, key), ["k", 0, false, 60_000]);
  deq(await take(burst), ["b", 0, false, 10_000]);
  world.clock.advance(TEN_SECONDS_MS);
  deq(await take(burst), ["b", 2, true, 10_000]);
  deq(await take(burst, key), ["k", 0, false, 50_000]);
  deq(await take(burst), ["b", 1, true, 10_000]);
});

Deno.test("LeasedCounters: a limit that changes within its window applies at once on all instances", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const dice = random(seed + 30_000 + round);
    const instances = 1 + dice.below(4);
    await using world = await CountersWorld.open(dice, { instances });
    for (let change = 0; change < 8; change++) {
      const claim = minute("k", 1 + dice.below(120));
      const before = world.admitted(claim), takers = dice.below(60);
      for (let n = 0; n < takers; n++) world.take(dice.below(instances), [claim]);
      await world.settle();
      const most = Math.max(before, Math.min(claim.limit, before + takers));
      ok(world.admitted(claim) <= most, `seed ${dice.seed}`);
      if (instances === 1) eq(world.admitted(claim), most, `seed ${dice.seed}`);
    }
  }
});

Deno.test("LeasedCounters: a clock that steps back never opens a window twice", async () => {
  for (let round = 0; round < ROUNDS; round++) {
    const dice = random(seed + 40_000 + round);
    await using world = await CountersWorld.open(dice, { instances: 1 + dice.below(3) });
    const claim = { key: "k", limit: 1 + dice.below(20), windowMs: TEN_SECONDS_MS };
    const admitted = new Map<number, number>();
    for (let n = 0; n < 120; n++) {
      const asked = Promise.all([1, 2, 3].map(() => dice.pick(world.all).takeAll([claim])));
      for (const grant of await world.moving(asked)) {
        if (!grant.admitted) continue;
        admitted.set(grant.resetMs, (admitted.get(grant.resetMs) ?? 0) + 1);
      }
      world.clock.nowMs += dice.pick([0, 900, 4_000, -500, -3_000, -25_000, 30_000]);
    }
    deq([...admitted.values()].filter((count) => count > claim.limit), [], `seed ${dice.seed}`);
  }
});

Deno.test("LeasedCounters: a clock that was far ahead and was corrected blocks nobody", async () => {
  await using world = await CountersWorld.open(random(seed), { instances: 1 });
  const [counters] = world.all;
  const startMs = world.clock.nowMs;
  const claim = minute("k", 2);
  const take = async () => {
    const { admitted, resetMs } = await counters!.takeAll([claim]);
    return [admitted, resetMs - startMs];
  };
  deq(await take(), [true, MINUTE_MS]);
  world.clock.nowMs += 1000 * MINUTE_MS;
  for (const admitted of [true, true, false]) deq(await take(), [admitted, 1001 * MINUTE_MS]);
  world.clock.nowMs = startMs + 30_000;
  // The earlier lease of this window counts as spent: it is never granted twice.
  deq(await take(), [false, MINUTE_MS]);
  world.clock.nowMs += MINUTE_MS;
  for (const admitted of [true, true, false]) deq(await take(), [admitted, 2 * MINUTE_MS]);
});
