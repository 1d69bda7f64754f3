import assert from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../../core/cli/client.ts";
import type { Program } from "../../core/cli/program.ts";
import { systemClock } from "../../core/system.ts";
import { SYSTEM } from "../../kv/collection.ts";
import { openStore } from "../../kv/open.ts";
import { organizations } from "../../kv/records/organization.ts";
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
import { examineDeliveries } from "./hook_ledger.ts";
import { type HookKind, startHookReceivers } from "./hook_receivers.ts";

const KILLS = Number(Deno.env.get("RELAY_CRASH_KILLS") ?? 3);
const SEED = Number(
  Deno.env.get("RELAY_CRASH_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
/** The relay is killed somewhere between these acknowledgements. */
const [ACKNOWLEDGED_MIN, ACKNOWLEDGED_MAX] = [20, 250];
/** With so many kills the test also waits until all has come, which takes a lease of 30 s. */
const LONG_FORM = 20;
const STALLED_MS = 60_000; // longer than a lease and a sweep
const CALLERS = 12;
/** Each caller has an agent and a rule of its own, because the refusals of one share an alert's row. */
const AGENTS = 3;
const DENIED = ["rm -rf /", "mkfs.ext4 /dev/sda", "dd if=/dev/zero of=/dev/sda", ":(){ :|:& };:"];
/** Attempts that one webhook has under way at most. */
const IN_FLIGHT_MAX = 64;
const QUICK = { initial_delay_seconds: 1, backoff_multiplier: 1, timeout_seconds: 1 };
const POLICIES: Readonly<Record<HookKind, object>> = {
  good: { ...QUICK, max_retries: 12 },
  flaky: { ...QUICK, max_retries: 12 },
  hang: { ...QUICK, max_retries: 2, auto_disable: false },
  drip: { ...QUICK, max_retries: 12, auto_disable: false },
  reset: { ...QUICK, max_retries: 2, auto_disable: false },
  // Its first failure disables it, so that what follows is held until it is enabled.
  gone: { ...QUICK, max_retries: 1 },
};

Deno.test(`webhooks: ${KILLS} times kill -9 under load lose no acknowledged event and repeat only what was in flight`, async () => {
  console.log(`webhook crash test: RELAY_CRASH_SEED=${SEED}`);
  const dice = random(SEED);
  await using receivers = startHookReceivers();
  await withFolder(async (folder) => {
    const env: Record<string, string> = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
    };
    let { relay, url } = await startRelayProcess(env);
    env.RELAY_PORT = new URL(url).port;
    const owner = clientOf(url, await signUpOwner(clientOf(url)));
    const webhooks = new Map<string, boolean>();
    const ids = {} as Record<HookKind, string>;
    for (const kind of Object.keys(POLICIES) as HookKind[]) {
      ids[kind] = await makeHook(owner, kind, receivers.urls[kind]);
      webhooks.set(ids[kind], kind === "good");
    }
    const agentIds: string[] = [];
    for (let n = 0; n < AGENTS; n++) {
      agentIds.push(await registerAgent(owner, url, `${folder}/agent${n}`));
    }
    const client = clientOf(url, await makeKey(owner, ["agents:write"]));
    const acknowledged = new Set<string>();
    let loadedMs = 0;
    try {
      for (let kill = 0; kill < KILLS; kill++) {
        const killAt = ACKNOWLEDGED_MIN + dice.below(ACKNOWLEDGED_MAX - ACKNOWLEDGED_MIN);
        const startedMs = performance.now();
        await refuseUntilKilled({ relay, client, agentIds, acknowledged, killAt, round: kill });
        loadedMs += performance.now() - startedMs;
        ({ relay, url } = await startRelayProcess(env));
        const enabled = await owner("POST", `/api/v1/webhooks/${ids.gone}/enable`);
        expectStatus(enabled, 200, "enabling");
      }
      if (KILLS >= LONG_FORM) await receivers.untilGood(acknowledged, STALLED_MS);
      assert.equal((await relay.stop()).code, 0);
      const opened = await openStore(env.RELAY_KV!, systemClock);
      try {
        const { items: [organization] } = await opened.store.list(organizations, SYSTEM, {
          limit: 1,
        });
        const tenant = { org: organization!.id, space: "live" as const };
        const expected = { tenant, acknowledged, webhooks, receivers };
        const found = await examineDeliveries(opened.store, expected);
        console.log(
          `webhook crash test: ${KILLS} kills, ${acknowledged.size} events acknowledged at ` +
            `${Math.round(acknowledged.size / loadedMs * 1000)}/s, ` +
            `${found.repeats} repeated, ${found.lost} attempts cut off, ` +
            Object.entries(found.states).map(([state, n]) => `${n} ${state}`).join(", "),
        );
        assert.deepEqual(found.faults.slice(0, 20), [], `seed ${SEED}`);
        assert.ok(found.lost <= KILLS * IN_FLIGHT_MAX, `${found.lost} attempts cut off`);
        assert.ok(found.repeats <= found.lost, `${found.repeats} repeats, ${found.lost} cut off`);
      } finally {
        await opened.close();
      }
    } catch (error) {
      console.error(relay.lines.join("\n"));
      throw error;
    } finally {
      await relay.stop();
    }
  });
});

async function makeHook(owner: Client, kind: HookKind, url: string): Promise<string> {
  const answer = await owner<{ id: string }>("POST", "/api/v1/webhooks", {
    name: kind,
    url,
    secret: "sixteen characters",
    events: ["command_denied"],
    retry_policy: POLICIES[kind],
  });
  return expectStatus(answer, 201, "making a webhook").id;
}

/** An agent that was here once: what the shield denies needs no link. */
async function registerAgent(owner: Client, url: string, folder: string): Promise<string> {
  const agent = startMain(["agent", "--url", url, "--state", folder], {
    RELAY_TOKEN: await makeKey(owner, ["agents:admin"]),
  });
  try {
    const [, id] = await agent.line(/^connected to .* \((\w+)\)$/, START_MS);
    return id!;
  } finally {
    await agent.stop();
  }
}

interface Round {
  readonly relay: Program;
  readonly client: Client;
  readonly agentIds: readonly string[];
  readonly acknowledged: Set<string>;
  /** The relay is killed at this acknowledgement. */
  readonly killAt: number;
  readonly round: number;
}

/** Callers whose commands are refused, each an event, until the relay is killed among them. */
async function refuseUntilKilled(
  { relay, client, agentIds, acknowledged, killAt, round }: Round,
): Promise<void> {
  let sent = 0, answered = 0;
  let death: Promise<void> | null = null;
  await Promise.all(Array.from({ length: CALLERS }, async (_, caller) => {
    const agentId = agentIds[caller % agentIds.length]!;
    const denied = DENIED[Math.floor(caller / agentIds.length) % DENIED.length]!;
    while (death === null) {
      const command = `${denied} # ${round}.${sent++}`;
      try {
        const query = new URLSearchParams({ command });
        expectStatus(await client("GET", `/api/exec/${agentId}?${query}`), 403, command);
      } catch (error) {
        // A broken connection is what a crash looks like; an answer must still be the right one.
        if (death === null || !(error instanceof TypeError)) throw error;
        return;
      }
      acknowledged.add(command);
      if (++answered === killAt) death = relay.kill();
    }
  }));
  await death;
}
