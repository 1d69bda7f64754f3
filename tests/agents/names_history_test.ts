import { deepStrictEqual as deq } from "node:assert/strict";
import { random } from "../support/random.ts";
import { World } from "../support/world.ts";
import { NamesHistory } from "./names_history.ts";

/** Histories that share one relay, whose invariants are checked at its end. */
const TOGETHER = 25;
/** Histories after which a long run reports its progress. */
const TELL_EVERY = 1_000;
const wanted = Number(Deno.env.get("RELAY_HISTORIES") ?? 30);
const chosen = Deno.env.get("RELAY_HISTORIES_SEED");
const seed = Number(chosen ?? crypto.getRandomValues(new Uint32Array(1))[0]! % 1_000_000_000);

/** Cases that 100 histories must have covered. */
const SEEN = [
  "delete",
  "pair",
  "pair with another name",
  "reconnect",
  "refused link",
  "register",
  "rename",
  "rename of a deleted agent",
  "rename with a number",
  "time passed",
];

Deno.test(`names, ${wanted} histories from seed ${seed}: a name never points to another organization's or a deleted agent, and no id changes its meaning`, async () => {
  console.log(`RELAY_HISTORIES_SEED=${seed} RELAY_HISTORIES=${wanted}`);
  const tally = new Map<string, number>();
  for (let first = 0; first < wanted; first += TOGETHER) {
    if (first > 0 && first % TELL_EVERY === 0) console.log(`${first} histories`);
    await using world = await World.open({ seed: seed + first });
    for (let n = first; n < Math.min(first + TOGETHER, wanted); n++) {
      await NamesHistory.play(world, random(seed + n), tally).catch((cause) => {
        const again = `RELAY_HISTORIES_SEED=${seed + n} RELAY_HISTORIES=1`;
        throw new Error(`the history of ${again}: ${cause.message}`, { cause });
      });
    }
  }
  console.log(Object.fromEntries([...tally].sort(([a], [b]) => a < b ? -1 : 1)));
  if (wanted >= 100) deq(SEEN.filter((what) => !tally.has(what)), [], "what no history has seen");
});
