import { deepStrictEqual as deq } from "node:assert/strict";
import { connected } from "./integrations/oauth_fixtures.ts";
import { installed } from "./integrations/fixtures.ts";
import { ManualClock } from "../support/clock.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { World } from "../support/world.ts";
import { exec, linkAgent } from "../support/linked_agent.ts";
import { happen, hear } from "./webhooks/hook_fixtures.ts";

/** The time of the engine, on which alarms ring, without timers: nothing but an alarm wakes a runner. */
class ClockWithoutTimers extends ManualClock {
  override now(): number {
    return Date.now();
  }
}

const JOBS: Readonly<Record<string, (world: World) => Promise<void>>> = {
  async "a delivery"(world) {
    const owner = await world.signUp();
    await hear(world, owner);
    await happen(world, owner);
  },
  async "a message of an integration"(world) {
    const here = await linkAgent(world);
    await installed(world, here.owner, "slack", { webhook_url: "https://hooks.example.com/x" });
    await exec(world, here, "rm -rf /");
  },
  async "a token refresh"(world) {
    await connected(world, await world.signUp(), "https://id.example.com");
    world.app.integrations.wake();
  },
};

for (const [name, stage] of Object.entries(JOBS)) {
  Deno.test(`alarm: the queue of an embedded store file wakes the retry of ${name}`, async () => {
    const folder = await Deno.makeTempDir();
    const kv = await Deno.openKv(`${folder}/relay.db`);
    const clock = new ClockWithoutTimers();
    const config = { ...NO_LIMITS, webhooks: { retry_delays_seconds: [1] } };
    {
      await using world = await World.open({ kv, clock, config, hasQueue: true });
      const retried = Promise.withResolvers<number>();
      const sentMs: number[] = [];
      world.network.reply = () => {
        sentMs.push(Date.now());
        if (sentMs.length === 1) return 500;
        retried.resolve(sentMs[1]! - sentMs[0]!);
        return 204;
      };
      await stage(world);
      await world.settle();
      deq([sentMs.length, await retried.promise >= 1_000], [1, true]);
      await world.settle();
    }
    await Deno.remove(folder, { recursive: true });
  });
}
