import { deepStrictEqual as deq, ok } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { startHookReceivers } from "../crash/hook_receivers.ts";
import { withFolder } from "../support/processes.ts";
import { random } from "../support/random.ts";
import { Cluster, type Place } from "./cluster.ts";
import { furnish, Load, type Organization } from "./organization.ts";
import { collectLog, Follower, type Outage, Responses } from "./outage.ts";
import { findDenokv } from "./denokv.ts";
import { delay, until } from "./wait.ts";

/** Its times are asserted, so it is a task of its own. */
const WANTED = Deno.env.get("RELAY_CLUSTER_OUTAGE") !== undefined;
const SEED = Number(
  Deno.env.get("RELAY_CLUSTER_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
/** Instances let go of their links after 10 s without the store. */
const AWAY_MS = 20_000;
/** An instance that was wrongly taken for dead would be taken over in this time. */
const WATCH_MS = 25_000;
const ROUNDS = ["paused", "killed"] as const;
let probes = 0;
/** How soon after the store's return everything works again. */
const [API_MS, STREAM_MS, LINK_MS] = [1_000, 1_000, 5_000];
const LATE_MS = 30_000;
const PROBE_MS = 50;
/** So few calls that a busy machine answers them at once. */
const REST_MS = 1_500;

const denokv = await findDenokv();
if (WANTED && denokv === null) console.log("denokv is not on the path: nothing is tested");

Deno.test({
  name: `cluster: a store that is away for ${
    AWAY_MS / 1000
  } s refuses calls, kills no instance and loses nothing`,
  ignore: !WANTED || denokv === null,
  fn: () => withFolder(run),
});

/** An instance with what is measured at it. */
interface Probed {
  readonly place: Place;
  readonly organization: Organization;
  readonly follower: Follower;
  readonly log: { level: string; message: string }[];
}

async function run(folder: string): Promise<void> {
  console.log(`cluster outage: RELAY_CLUSTER_SEED=${SEED}`);
  const dice = random(SEED);
  const outages: Outage[] = [];
  const responses = new Responses(outages);
  await using receivers = startHookReceivers();
  await using cluster = await Cluster.start(denokv!, folder);
  await using cleanup = new AsyncDisposableStack();
  const organizations: Organization[] = [];
  for (const [n, { url: agentUrl }] of cluster.places.entries()) {
    const seed = `seed ${SEED}`, send = responses.fetch;
    const organization = await furnish(n, {
      cluster,
      dice,
      folder,
      agentUrl,
      receivers,
      seed,
      send,
    });
    organizations.push(organization);
    cleanup.defer(() => organization.agent.program.kill());
  }
  const ids = cluster.places.map(({ id }) => id);
  const probed = cluster.places.map((place, n): Probed => {
    const organization = organizations[n]!;
    return { place, organization, follower: new Follower(place.url, organization.key), log: [] };
  });
  const followers = probed.map(({ follower }) => follower.run());
  const logs = probed.map(({ place, log }) => collectLog(place.relay, log));
  await Promise.all(probed.map(({ follower }) => follower.opened));
  const load = new Load(organizations, random(dice.below(1e9)), REST_MS);
  const failed = Promise.race([load.running, ...followers]);
  try {
    await Promise.race([
      failed,
      (async () => {
        for (const kind of ROUNDS) await oneOutage(kind, cluster, probed, outages, responses);
      })(),
    ]);
    await Promise.race([failed, delay(WATCH_MS)]);
    await Promise.race([failed, load.stop()]);
    deq(responses.faults.slice(0, 10), [], `seed ${SEED}`);
    console.log(
      `cluster outage: ${load.acknowledged} requests acknowledged, ${responses.refused} refused ` +
        `within ${(responses.slowestMs / 1000).toFixed(1)} s, ` +
        `streams cut off ${probed.map(({ follower }) => follower.cuts).join(", ")} times`,
    );
    await checkStreams(probed);
    for (const { after } of organizations) {
      await until("no command is open", LATE_MS, async () => {
        for (const id of after.ledger.accepted.keys()) {
          if (/^(queued|running)$/.test(await after.statusOf(id))) return false;
        }
        return true;
      });
      await after.checkRecords();
      await after.checkCommands();
      const reaped = after.trail.filter((line) => line.includes('"relay_lost"'));
      deq(reaped, [], `a healthy instance was taken for dead, seed ${SEED}`);
    }
    const present: string[] = [];
    for await (const { key } of cluster.store.kv.list({ prefix: ["~", "instance"] })) {
      present.push(String(key.at(-1)));
    }
    deq(present.toSorted(), ids.toSorted());
    probed.forEach(({ follower }) => follower.stop());
    await Promise.all(followers);
    for (const { agent } of organizations) await agent.program.stop();
    deq(await cluster.stopInstances(), cluster.places.map(() => 0));
    await Promise.all(logs);
    for (const { log } of probed) checkLog(log);
  } catch (error) {
    for (const { place, log } of probed) {
      console.error([place.url, ...log.map((line) => JSON.stringify(line))].join("\n"));
    }
    throw error;
  } finally {
    probed.forEach(({ follower }) => follower.stop());
  }
}

/** Takes the store away, brings it back, and measures when everything works again. */
async function oneOutage(
  kind: typeof ROUNDS[number],
  cluster: Cluster,
  probed: readonly Probed[],
  outages: Outage[],
  { fetch }: Responses,
): Promise<void> {
  await Promise.all(probed.map((each) => untilWorks(each, fetch)));
  const outage = { fromMs: performance.now(), toMs: Infinity };
  outages.push(outage);
  if (kind === "paused") cluster.kv.pause();
  else await cluster.killStore();
  const healthz = async ({ place: { url } }: Probed) => {
    while (outage.toMs === Infinity) {
      await (await fetch(`${url}/healthz`)).body?.cancel();
      await delay(4 * PROBE_MS);
    }
  };
  const alive = Promise.all(probed.map(healthz));
  await Promise.race([delay(AWAY_MS), alive]);
  if (kind === "paused") cluster.kv.resume();
  else await cluster.restartStore();
  const backMs = outage.toMs = performance.now();
  await alive;
  const tookMs = await Promise.all(probed.map((each) => untilWorks(each, fetch)));
  const at = (times: readonly number[]) => Math.max(...times) - backMs;
  const [api, streams, links] = [
    at(tookMs.map(({ api }) => api)),
    at(tookMs.map(({ stream }) => stream)),
    at(tookMs.map(({ link }) => link)),
  ];
  console.log(
    `cluster outage: ${kind}; after the store's return the API works after ${
      Math.round(api)
    } ms, ` +
      `streams after ${Math.round(streams)} ms, links after ${Math.round(links)} ms`,
  );
  ok(api <= API_MS, `the API, ${api} ms`);
  ok(streams <= STREAM_MS, `streams, ${streams} ms`);
  ok(links <= LINK_MS, `links, ${links} ms`);
}

/** When reads and writes at an instance, its stream and its agent's link work. */
async function untilWorks(
  { place: { url }, organization: { after: { agentId }, key }, follower }: Probed,
  send: typeof fetch,
) {
  const client = clientOf(url, key, send);
  const api = (async () => {
    await when(async () => (await client("GET", "/api/v1/agents")).status === 200);
    return performance.now();
  })();
  const stream = (async () => {
    const asked: string[] = [];
    await when(async () => {
      const command = `rm -rf / # p${probes++}`;
      const query = new URLSearchParams({ command });
      const { status } = await client("GET", `/api/exec/${agentId}?${query}`);
      if (status === 403) asked.push(command);
      return asked.some((each) => follower.came.has(each));
    });
    return follower.came.get(asked.find((each) => follower.came.has(each))!)!;
  })();
  const link = (async () => {
    const path = `/api/exec/${agentId}?command=true`;
    await when(async () => (await client("GET", path)).status === 200);
    return performance.now();
  })();
  return { api: await api, stream: await stream, link: await link };
}

async function when(isSo: () => Promise<boolean>): Promise<void> {
  const startedMs = performance.now();
  while (!await isSo()) {
    if (performance.now() - startedMs > LATE_MS) throw new Error("it does not work again");
    await delay(PROBE_MS);
  }
}

/** Every acknowledged event came to every stream once. */
async function checkStreams(probed: readonly Probed[]): Promise<void> {
  for (const { follower, organization: { acknowledged } } of probed) {
    const missing = () => [...acknowledged].filter((command) => !follower.came.has(command));
    await when(async () => missing().length === 0).catch(() => deq(missing(), []));
    deq(follower.faults, []);
  }
}

/** The log says once that the store is away, and once that it is back. */
function checkLog(log: readonly { level: string; message: string }[]): void {
  const told = log.filter(({ level }) => level !== "info").map(({ message }) => message);
  deq(told, ROUNDS.map(() => "the store takes no changes"));
}
