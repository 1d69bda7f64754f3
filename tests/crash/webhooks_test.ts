import assert from "node:assert/strict";
import { type Client, clientOf, expectStatus, UnreachedError } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import { systemClock } from "../../core/ports/system.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import {
  makeKey,
  START_MS,
  startMain,
  startRelayProcess,
  withFolder,
} from "../support/processes.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { random } from "../support/random.ts";
import { examineDeliveries } from "./hook_ledger.ts";
import { type HookKind, type HookReceivers, startHookReceivers } from "./hook_receivers.ts";
import { makeHook } from "./make_hook.ts";

const KILLS = Number(Deno.env.get("RELAY_CRASH_KILLS") ?? 3);
const SEED = Number(
  Deno.env.get("RELAY_CRASH_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
/** The relay is killed somewhere between these acknowledgements. */
const [ACKNOWLEDGED_MIN, ACKNOWLEDGED_MAX] = [20, 600];
/** With so many kills the test also waits until all has come, which takes a lease of 30 s. */
const LONG_FORM = 20;
const STALLED_MS = 60_000; // longer than a lease and a sweep
/** The figures are told so often. */
const KILLS_A_LINE = 10;
/** The receivers of each organization: together every kind, and a good one beside bad ones in each. */
const ORGANIZATIONS: readonly (readonly HookKind[])[] = [
  ["good", "flaky", "hang"],
  ["good", "drip", "reset", "gone"],
];
/** Each caller has an agent and a rule of its own, because the refusals of one share an alert's row. */
const AGENTS = 3;
const DENIED = ["rm -rf /", "mkfs.ext4 /dev/sda", "dd if=/dev/zero of=/dev/sda", ":(){ :|:& };:"];
/** Attempts that one webhook has under way at most. */
const IN_FLIGHT_MAX = 64;
/** An organization with its webhooks, and what its callers were told. */
interface Organization {
  readonly id: string;
  readonly owner: Client;
  readonly client: Client;
  readonly agentIds: readonly string[];
  /** Its webhooks by id. */
  readonly webhooks: ReadonlyMap<string, HookKind>;
  /** Texts of the commands whose refusal was answered: each is one event. */
  readonly acknowledged: Set<string>;
}

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
    const organizations: Organization[] = [];
    try {
      for (const [n, kinds] of ORGANIZATIONS.entries()) {
        organizations.push(await furnish(url, `${folder}/${n}`, n, kinds, receivers));
      }
      const figures = new Figures(organizations, receivers);
      for (let kill = 1; kill <= KILLS; kill++) {
        const killAt = ACKNOWLEDGED_MIN + dice.below(ACKNOWLEDGED_MAX - ACKNOWLEDGED_MIN);
        const startedMs = performance.now();
        await refuseUntilKilled(relay, organizations, killAt, kill);
        const killedMs = performance.now();
        figures.loadedMs += killedMs - startedMs;
        ({ relay, url } = await startRelayProcess(env));
        figures.startMs = performance.now() - killedMs;
        await enableGone(organizations);
        if (kill % KILLS_A_LINE === 0 || kill === KILLS) figures.tell(`${kill} kills`);
      }
      if (KILLS >= LONG_FORM) {
        const all = organizations.flatMap(({ acknowledged }) => [...acknowledged]);
        await receivers.untilGood(all, STALLED_MS, (left) => figures.tell(`${left} to come`));
      }
      assert.equal((await relay.stop()).code, 0);
      const opened = await openStore(env.RELAY_KV!, systemClock);
      try {
        const found = await examineDeliveries(opened.store, organizations, receivers);
        figures.tell(
          `${KILLS} kills, ${found.lost} attempts cut off in flight, ${found.repeats} repeated, ` +
            Object.entries(found.states).map(([state, n]) => `${n} ${state}`).join(", "),
        );
        assert.deepEqual(found.faults.slice(0, 20), [], `seed ${SEED}`);
        const inFlightMax = KILLS * IN_FLIGHT_MAX * ORGANIZATIONS.length;
        assert.ok(found.lost <= inFlightMax, `${found.lost} attempts cut off`);
        assert.ok(found.repeats <= found.lost, `${found.repeats} repeats, ${found.lost} cut off`);
      } finally {
        await opened.close();
      }
    } catch (error) {
      console.error(relay.lines.join("\n"));
      // Of a relay that still answers: what it says of its deliveries.
      const said = await organizations[0]?.owner<string>("GET", "/metrics").catch(String);
      const text = typeof said === "object" ? said.body : said ?? "";
      console.error(text.split("\n").filter((line) => /deliver|jobs/.test(line)).join("\n"));
      throw error;
    } finally {
      await relay.stop();
    }
  });
});

/** How far the run has come. */
class Figures {
  readonly #startedMs = performance.now();
  /** How long there was load, without the time in which no relay was there. */
  loadedMs = 0;
  /** How long the last start took, on a store that grows. */
  startMs = 0;

  constructor(
    private readonly organizations: readonly Organization[],
    private readonly receivers: HookReceivers,
  ) {}

  tell(what: string): void {
    const events = this.organizations.reduce((n, { acknowledged }) => n + acknowledged.size, 0);
    const came = this.receivers.came.values().reduce((n, times) => n + times, 0);
    const seconds = Math.round((performance.now() - this.#startedMs) / 1000);
    console.log(
      `webhook crash test: ${seconds} s, ${events} events acknowledged at ` +
        `${Math.round(events / this.loadedMs * 1000)}/s, ${came} requests came, ` +
        `the last start took ${Math.round(this.startMs)} ms, ${what}`,
    );
  }
}

/** Makes an organization with a webhook for each kind of receiver, and agents. */
async function furnish(
  url: string,
  folder: string,
  n: number,
  kinds: readonly HookKind[],
  receivers: HookReceivers,
): Promise<Organization> {
  const account = { email: `a${n}@example.com`, password: "correct horse 7", organization: `${n}` };
  const signedUp = expectStatus(
    await clientOf(url)<{ token: string; organization: { id: string } }>(
      "POST",
      "/api/v1/signup",
      account,
    ),
    201,
    "signing up",
  );
  const owner = clientOf(url, signedUp.token);
  const webhooks = new Map<string, HookKind>();
  for (const kind of kinds) webhooks.set(await makeHook(owner, kind, receivers.urls[kind]), kind);
  const agentIds: string[] = [];
  for (let agent = 0; agent < AGENTS; agent++) {
    agentIds.push(await registerAgent(owner, url, `${folder}-${agent}`));
  }
  const client = clientOf(url, await makeKey(owner, ["agents:write"]));
  const { id } = signedUp.organization;
  return { id, owner, client, agentIds, webhooks, acknowledged: new Set() };
}

/** Switches on again what its receiver's failures have switched off. */
async function enableGone(organizations: readonly Organization[]): Promise<void> {
  for (const { owner, webhooks } of organizations) {
    for (const [id, kind] of webhooks) {
      if (kind !== "gone") continue;
      expectStatus(await owner("POST", `/api/v1/webhooks/${id}/enable`), 200, "enabling");
    }
  }
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

/** Callers whose commands are refused, each an event, until the relay is killed among them. */
async function refuseUntilKilled(
  relay: Program,
  organizations: readonly Organization[],
  killAt: number,
  round: number,
): Promise<void> {
  let sent = 0, answered = 0;
  let death: Promise<void> | null = null;
  const call = async ({ client, acknowledged }: Organization, agentId: string, denied: string) => {
    while (death === null) {
      const command = `${denied} # ${round}.${sent++}`;
      try {
        const query = new URLSearchParams({ command });
        expectStatus(await client("GET", `/api/exec/${agentId}?${query}`), 403, command);
      } catch (error) {
        // A broken connection is what a crash looks like; an answer must still be the right one.
        if (death === null || !(error instanceof UnreachedError)) throw error;
        return;
      }
      acknowledged.add(command);
      if (++answered === killAt) death = relay.kill();
    }
  };
  await Promise.all(
    organizations.flatMap((organization) =>
      organization.agentIds.flatMap((agentId) =>
        DENIED.map((denied) => call(organization, agentId, denied))
      )
    ),
  );
  await death;
}
