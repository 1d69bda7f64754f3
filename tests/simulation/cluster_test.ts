import { History } from "./history.ts";

const wanted = Number(Deno.env.get("RELAY_SIMULATIONS") ?? 20);
const chosen = Deno.env.get("RELAY_SIMULATION_SEED");
const seed = Number(chosen ?? 5000);
/** Histories after which a long run reports its progress. */
const TELL_EVERY = 500;

Deno.test({
  name:
    `simulation, ${wanted} histories from seed ${seed}: four instances lose nothing and repeat nothing`,
  // A process that died leaves its calls unanswered.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    console.log(`RELAY_SIMULATION_SEED=${seed} RELAY_SIMULATIONS=${wanted}`);
    for (let n = 0; n < wanted; n++) {
      if (n > 0 && n % TELL_EVERY === 0) console.log(`${n} histories`);
      await History.play(seed + n).catch((cause) => {
        const again = `RELAY_SIMULATION_SEED=${seed + n} RELAY_SIMULATIONS=1`;
        throw new Error(`the history of ${again}: ${cause.message}`, { cause });
      });
    }
  },
});
