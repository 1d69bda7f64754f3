import assert from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { random } from "../support/random.ts";
import { faultsOfStore } from "../support/whole_store.ts";
import { AfterCrash } from "./after_crash.ts";
import { loadUntilKilled } from "./load.ts";

const KILLS = Number(Deno.env.get("RELAY_CRASH_KILLS") ?? 3);
const SEED = Number(
  Deno.env.get("RELAY_CRASH_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
/** The relay is killed somewhere between these acknowledgements. */
const [ACKNOWLEDGED_MIN, ACKNOWLEDGED_MAX] = [10, 200];
/** An agent is back this soon after its relay is. */
const AGENT_BACK_MS = 5_000;
const SCOPES = ["agents:read", "agents:write", "audit:read", "audit:write", "system:read"];

Deno.test(`relay: ${KILLS} times kill -9 under load lose nothing acknowledged and repeat no command`, async () => {
  console.log(`crash test: RELAY_CRASH_SEED=${SEED}`);
  const dice = random(SEED);
  await withFolder(async (folder) => {
    const env: Record<string, string> = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify(NO_LIMITS),
    };
    let { relay, url, readyMs } = await startRelayProcess(env);
    env.RELAY_PORT = new URL(url).port;
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const client = clientOf(url, await makeKey(owner, [...SCOPES, "system:write"]));
    const agent = startMain(["agent", "--url", url, "--state", `${folder}/agent`], {
      RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
    });
    try {
      const [, agentId] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
      const counterFile = `${folder}/counter`;
      const after = new AfterCrash(client, agentId!, counterFile, `seed ${SEED}`);
      const { ledger } = after;
      let acknowledged = 0, slowestMs = 0;
      for (let kill = 0; kill < KILLS; kill++) {
        const killAt = ACKNOWLEDGED_MIN + dice.below(ACKNOWLEDGED_MAX - ACKNOWLEDGED_MIN);
        const round = { relay, client, agentId: agentId!, counterFile, ledger, killAt };
        acknowledged += await loadUntilKilled(round);
        ({ relay, url, readyMs } = await startRelayProcess(env));
        await after.checkRecords();
        slowestMs = Math.max(slowestMs, await untilBack(agent, readyMs));
        await after.checkCommands();
      }
      console.log(
        `crash test: ${KILLS} kills, ${acknowledged} requests acknowledged, ` +
          `${after.trail.length} rows, agent back within ${Math.round(slowestMs)} ms`,
      );
      await agent.stop();
      await relay.stop();
      using kv = await Deno.openKv(env.RELAY_KV!);
      assert.deepEqual(await faultsOfStore(kv), [], `seed ${SEED}`);
    } catch (error) {
      console.error(relay.lines.join("\n"));
      throw error;
    } finally {
      await agent.stop();
      await relay.stop();
    }
  });
});

/** How long the agent took to be back, in ms since its relay was ready. */
async function untilBack(agent: Program, readyMs: number): Promise<number> {
  await agent.line(/^connected to /, Math.max(0, AGENT_BACK_MS - (performance.now() - readyMs)));
  return performance.now() - readyMs;
}
