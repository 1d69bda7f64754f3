import { ok } from "node:assert/strict";
import { faultyKv, shared } from "../support/kv.ts";
import { random } from "../support/random.ts";
import { Life, World } from "./world.ts";

const ROUNDS = 40;
const SEEDS = Number(Deno.env.get("RELAY_TEST_SEEDS") ?? 12);

for (let seed = 1; seed <= SEEDS; seed++) {
  Deno.test(`simulation, seed ${seed}: faults and crashes lose nothing and repeat nothing`, async () => {
    const dice = random(seed), world = new World(dice);
    const engine = await Deno.openKv(":memory:");
    const kv = shared(engine), faulty = faultyKv(kv, dice.unit);
    let life = new Life(faulty, true);
    for (let round = 0; round < ROUNDS; round++) {
      const acts = Array.from({ length: 1 + dice.below(6) }, () => world.act(life));
      if (dice.chance(0.3)) life.bench.clock.advance(dice.pick([2, 250, 1000]));
      if (dice.chance(0.2)) {
        for (let turn = dice.below(12); turn > 0; turn--) await Promise.resolve();
        life.kill();
        await Promise.all(acts);
        await life.follower.idle();
        await life.bench.store.idle();
        life = new Life(faulty, true);
      } else {
        await Promise.all(acts);
        if (dice.chance(0.3)) await life.bench.log.flush().catch(() => {});
      }
      await life.bench.store.idle();
      await world.assertFresh(life, kv);
    }
    life.kill();
    await life.follower.idle();
    await life.bench.store.idle();
    const last = new Life(kv, true);
    await world.assertTrue(last, kv);
    const { acknowledged, unknown, refused } = world.figures;
    ok(acknowledged > 20 && unknown > 0 && refused > 0, JSON.stringify(world.figures));
    await last.bench[Symbol.asyncDispose]();
    engine.close();
  });
}
