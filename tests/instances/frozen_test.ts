import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { CLOSE_CODES } from "../../core/protocol/protocol.ts";
import { ManualClock } from "../support/clock.ts";
import { claimingPair } from "./claims.ts";

const FROZEN_MS = 60_000;

/** Two instances, of which the second one takes over from the first, which is frozen, once `freeze` is called. */
async function cluster() {
  const all = await claimingPair(new ManualClock());
  const { one, two } = all;
  return {
    ...all,
    async freeze() {
      for (let n = 0; n < 4; n++) {
        two.clock.advance(5_000);
        await two.settle();
      }
      one.clock.freeze(FROZEN_MS);
    },
  };
}

Deno.test("frozen: a command whose claim is answered after the lease is not sent", async () => {
  await using frozen = await cluster();
  const { agent, atClaim, exec, freeze, one, rest, row } = frozen;
  atClaim(async (commit) => {
    const result = await commit();
    await freeze();
    return result;
  });
  const answer = await exec(one);
  deq([agent.received.at(-1)?.type, agent.closed?.code], [
    "welcome",
    CLOSE_CODES.going_away.code,
  ]);
  await rest();
  deq([answer.status, (await row()).status], [503, "failed"]);
});

for (const what of ["a cancellation", "a restart", "a policy"] as const) {
  Deno.test(`frozen: ${what} is not sent in the first turn after the lease`, async () => {
    await using frozen = await cluster();
    const { agent, exec, freeze, live, one, row } = frozen;
    agent.script = () => "silent";
    const answer = exec(one);
    await agent.until("run");
    const { id } = await row();
    await freeze();
    const before = agent.received.length;
    const link = one.app.links.of(live, agent.id)!;
    if (what === "a cancellation") eq(one.app.commands.cancel(id, "usr_1"), false);
    else if (what === "a restart") eq(link.send({ type: "restart" }), false);
    else link.sendPolicies({ version: "sha256:1", documents: [] });
    deq([agent.received.length, agent.closed?.code], [before, CLOSE_CODES.going_away.code]);
    eq((await answer).body.error.code, "COMMAND_LOST");
  });
}
