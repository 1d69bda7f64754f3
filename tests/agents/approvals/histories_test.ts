import { deepStrictEqual as deq } from "node:assert/strict";
import { World } from "../../support/world.ts";
import { play } from "./history.ts";
import type { Tally } from "./organization.ts";

/** Histories that share one relay, whose invariants are checked at its end. */
const TOGETHER = 25;
/** Histories after which a long run reports its progress. */
const TELL_EVERY = 1_000;
const wanted = Number(Deno.env.get("RELAY_HISTORIES") ?? 50);
const chosen = Deno.env.get("RELAY_HISTORIES_SEED");
const seed = Number(chosen ?? crypto.getRandomValues(new Uint32Array(1))[0]! % 1_000_000_000);

/** Cases that this many histories must have covered. */
const SEEN: readonly (readonly [number, readonly string[]])[] = [
  [100, [
    "taken by session",
    "taken by key",
    "refused by session",
    "refused by session of another",
    "refused by key",
    "refused by a chat",
    "key rotated by another",
    "account linked",
    "password reset",
    "second factor set up",
    "person: deactivate",
    "self-approval: asked for",
    "taken from the only member",
  ]],
  [5_000, [
    "taken by key of another",
    "taken by a chat",
    "taken where self-approval is allowed",
    "refused by key of another",
    "approved by several",
    "key widened by another",
    "key made to last longer by another",
    "account linked by another",
    "bot adopted",
    "reset password changed by its owner",
    "second factor turned off",
    "self-approval: confirmed",
    "self-approval: turned on alone",
  ]],
];

Deno.test(`approvals, ${wanted} histories from seed ${seed}: nobody approves their own request by any credential that they were given, issued or reset`, async () => {
  console.log(`RELAY_HISTORIES_SEED=${seed} RELAY_HISTORIES=${wanted}`);
  const tally: Tally = new Map();
  for (let first = 0; first < wanted; first += TOGETHER) {
    if (first > 0 && first % TELL_EVERY === 0) console.log(`${first} histories`);
    await using world = await World.open({ seed: seed + first });
    await world.signUp(); // the host, whose administrators change no settings
    for (let n = first; n < Math.min(first + TOGETHER, wanted); n++) {
      await play(world, seed + n, tally).catch((cause) => {
        const again = `RELAY_HISTORIES_SEED=${seed + n} RELAY_HISTORIES=1`;
        throw new Error(`the history of ${again}: ${cause.message}`, { cause });
      });
    }
  }
  console.log(Object.fromEntries([...tally].sort(([a], [b]) => a < b ? -1 : 1)));
  const never = SEEN.filter(([from]) => wanted >= from)
    .flatMap(([, all]) => all.filter((what) => !tally.has(what)));
  deq(never, [], "what no history has seen");
});
