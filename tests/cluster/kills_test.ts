import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { examineDeliveries } from "../crash/hook_ledger.ts";
import { startHookReceivers } from "../crash/hook_receivers.ts";
import { withFolder } from "../support/processes.ts";
import { random } from "../support/random.ts";
import { faultsOfStore } from "../support/whole_store.ts";
import { Cluster } from "./cluster.ts";
import { Deaths } from "./deaths.ts";
import { Killer } from "./killer.ts";
import { furnish, Load, type Organization } from "./organization.ts";
import { findDenokv } from "./denokv.ts";
import { until } from "./wait.ts";

/** Its times are asserted, so it is a task of its own. */
const KILLS = Number(Deno.env.get("RELAY_CLUSTER_KILLS") ?? 0);
const SEED = Number(
  Deno.env.get("RELAY_CLUSTER_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
const REST_MS = 300;
/** With so many kills the test also waits until all events have come, which takes a lease of 30 s. */
const LONG_FORM = 20;
const ORGANIZATIONS = KILLS < LONG_FORM ? 1 : 3;
/** Commands have ended, and events have come, this long after the last kill. */
const RECOVERY_MS = 60_000;

const denokv = await findDenokv();
if (KILLS > 0 && denokv === null) console.log("denokv is not on the path: nothing is tested");

Deno.test({
  name:
    `cluster: ${KILLS} times kill -9 under load lose nothing acknowledged and repeat no command`,
  ignore: KILLS === 0 || denokv === null,
  fn: () => withFolder(run),
});

async function run(folder: string): Promise<void> {
  console.log(`cluster kills: RELAY_CLUSTER_SEED=${SEED}`);
  const dice = random(SEED);
  await using receivers = startHookReceivers();
  await using cluster = await Cluster.start(denokv!, folder);
  using proxy = cluster.proxy();
  const organizations: Organization[] = [];
  await using cleanup = new AsyncDisposableStack();
  for (let n = 0; n < ORGANIZATIONS; n++) {
    const parts = { cluster, dice, folder, agentUrl: proxy.url, receivers, seed: `seed ${SEED}` };
    const organization = await furnish(n, parts);
    organizations.push(organization);
    cleanup.defer(() => organization.agent.program.kill());
  }
  const deaths = new Deaths(cluster.store);
  const load = new Load(organizations, random(dice.below(1e9)), REST_MS);
  const place = { folder, url: proxy.url };
  const killer = new Killer(cluster, deaths, organizations, place, random(dice.below(1e9)));
  const failed = Promise.race([killer.failed.promise, load.running, deaths.watch()]);
  try {
    await Promise.race([killer.kill(KILLS), failed]);
    await Promise.race([load.stop(), failed]);
    console.log(`cluster kills: ${textOf(killer, load, deaths)}`);
    await deaths.stop();
    await checkAnswers(organizations);
    if (KILLS >= LONG_FORM) {
      const all = organizations.flatMap(({ acknowledged }) => [...acknowledged]);
      await receivers.untilGood(all, RECOVERY_MS, (left) => console.log(`${left} events to come`));
    }
    for (const { agent } of organizations) await agent.program.stop();
    deq(await cluster.stopInstances(), cluster.places.map(() => 0));
    const found = await examineDeliveries(cluster.store, organizations, receivers);
    console.log(
      `cluster kills: ${found.lost} attempts cut off in flight, ${found.repeats} repeated, ` +
        Object.entries(found.states).map(([state, n]) => `${n} ${state}`).join(", "),
    );
    deq(found.faults.slice(0, 20), [], `seed ${SEED}`);
    ok(found.repeats <= found.lost, `${found.repeats} repeats, ${found.lost} cut off`);
    deq(await faultsOfStore(cluster.store.kv), [], `seed ${SEED}`);
  } catch (error) {
    console.error(`seed ${SEED}, ${textOf(killer, load, deaths)}`);
    for (const { relay, url } of cluster.places) console.error([url, ...relay.lines].join("\n"));
    throw error;
  }
}

/** Every acknowledged row is there, and every command has ended and ran once at most. */
async function checkAnswers(organizations: readonly Organization[]): Promise<void> {
  for (const { after } of organizations) {
    const { accepted } = after.ledger;
    await until("no command is open", RECOVERY_MS, async () => {
      for (const id of accepted.keys()) {
        if (/^(queued|running)$/.test(await after.statusOf(id))) return false;
      }
      return true;
    });
    await after.checkRecords();
    await after.checkCommands();
  }
}

function textOf({ killed }: Killer, load: Load, { tookMs, undisturbed }: Deaths): string {
  const sorted = tookMs.toSorted((a, b) => a - b);
  const seconds = (share: number) =>
    ((sorted[Math.floor((sorted.length - 1) * share)] ?? 0) / 1000).toFixed(1);
  const unknown = [...load.unknown].map(([why, n]) => `${n} ${why}`).join(", ");
  return `killed ${killed.instances} instances, ${killed.agents} agents, denokv ${killed.stores} times; ` +
    `${load.acknowledged} requests acknowledged, others: ${unknown}; ` +
    `${sorted.length} takeovers after p50 ${seconds(0.5)}, at most ${seconds(1)} s, ` +
    `${undisturbed} of them undisturbed`;
}
