import { ok } from "node:assert/strict";
import { History } from "./history.ts";

const wanted = Number(Deno.env.get("RELAY_SIMULATIONS") ?? 10);
const seed = Number(Deno.env.get("RELAY_SIMULATION_SEED") ?? 5000);
/** Which of several processes this is, such as 1/2: each plays every second seed then. */
const [part, parts] = (Deno.env.get("RELAY_SIMULATION_PART") ?? "1/1").split("/").map(Number);
/** Histories after which a long run reports its progress. */
const TELL_EVERY = 250;
/** What a history exercises, and in which share of the histories it must happen; fewer histories prove nothing. */
const EXERCISED = {
  approvals: 0.5,
  cancellations: 0.1,
  "forbidden commands": 0.3,
  "limited calls": 0.25,
  "refused keys": 0.5,
  "stopped chains": 0.4,
};
const PROVING = 10;

Deno.test({
  name:
    `simulation, ${wanted} histories from seed ${seed}: four instances lose nothing and repeat nothing`,
  // A process that died leaves its calls unanswered.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    console.log(`RELAY_SIMULATION_SEED=${seed} RELAY_SIMULATIONS=${wanted}`);
    const exercised: Record<string, number> = {};
    let played = 0;
    for (let n = part! - 1; n < wanted; n += parts!) {
      const { asker } = await History.play(seed + n).catch((cause) => {
        const again = `RELAY_SIMULATION_SEED=${seed + n} RELAY_SIMULATIONS=1`;
        throw new Error(`the history of ${again}: ${cause.message}`, { cause });
      });
      for (const what of Object.keys(asker.tally)) exercised[what] = (exercised[what] ?? 0) + 1;
      if (++played % TELL_EVERY === 0) console.log(`${played} histories in part ${part}`);
    }
    for (const [what, share] of Object.entries(EXERCISED)) {
      const times = exercised[what] ?? 0;
      ok(played < PROVING || times >= share * played, `${what} in ${times} of ${played} histories`);
    }
  },
});
