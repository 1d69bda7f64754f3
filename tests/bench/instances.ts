import { figure } from "./figures.ts";
import { findDenokv, SECRET, startDenokv, TOKEN } from "../cluster/denokv.ts";
import { openCosts } from "../instances/cost.ts";
import { signUp, type Tenant } from "./client.ts";
import { endToo, get, measure, type Measured, median, mustAll, start } from "./parts.ts";
import { readOf } from "./reads.ts";
import { ROUNDS, SECONDS } from "./size.ts";

/** Connections of the load, and those of a single caller. */
const CONNECTIONS = [1, 32];
const INSTANCES = [1, 2, 3];
type RequestOf = (tenant: Tenant) => string;
const KINDS: Readonly<Record<string, RequestOf>> = {
  GET: readOf,
  exec: ({ key, agentId }) => get(`/api/exec/${agentId}?command=uptime`, { "x-api-key": key }),
};

/** One organization whose agents are linked to different instances. */
interface Side {
  readonly name: string;
  readonly ports: readonly number[];
  readonly agents: readonly Tenant[];
}

/** Reads and commands with one to three instances over denokv, beside the embedded store, by turns in one run. */
export async function benchInstances(): Promise<void> {
  await showCosts();
  const denokv = await findDenokv();
  if (denokv === null) {
    console.log("denokv is not on the path: only its round trips are shown");
    return;
  }
  const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
  try {
    const embedded = await openSide("embedded", 1, {});
    const shared: Side[] = [];
    for (const count of INSTANCES) {
      const server = await startDenokv(denokv, `${folder}/${count}.sqlite`);
      endToo(server);
      const env = { RELAY_KV: server.url, RELAY_SECRET: SECRET, DENO_KV_ACCESS_TOKEN: TOKEN };
      shared.push(await openSide(`${count} on denokv`, count, env));
    }
    for (const [kind, requestOf] of Object.entries(KINDS)) {
      for (const connections of CONNECTIONS) {
        await compare(kind, connections, [embedded, ...shared], requestOf);
      }
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

/** Starts relays over one store, each with an agent that answers at once. */
async function openSide(name: string, count: number, env: Record<string, string>): Promise<Side> {
  const ports: number[] = [];
  for (let n = 0; n < count; n++) {
    ports.push((await start<{ port: number }>("relay.ts", [], env)).ready.port);
  }
  const bases = ports.map((port) => `http://127.0.0.1:${port}`);
  const account = await signUp(bases[0]!, 0);
  const agents: Tenant[] = [];
  for (const base of bases) {
    const { ready } = await start<{ ids: string[] }>("echo_agent.ts", [base, account.key]);
    agents.push({ ...account, agentId: ready.ids[0]! });
  }
  return { name, ports, agents };
}

/** Loads the sides by turns and prints the medians; ratios are those of the same round. */
async function compare(
  kind: string,
  connections: number,
  sides: readonly Side[],
  requestOf: RequestOf,
): Promise<void> {
  const runs = sides.map((): Measured[] => []);
  for (let round = -1; round < ROUNDS; round++) {
    for (const [n, { ports, agents }] of sides.entries()) {
      // Every instance is asked about every agent.
      const requests = agents.flatMap((agent) => ports.map(() => requestOf(agent)));
      const run = await measure(ports, connections, SECONDS, requests);
      mustAll(run, "200");
      if (round >= 0) runs[n]!.push(run); // the first one warms
    }
  }
  for (const [n, { name }] of sides.entries()) {
    const ratios = runs[n]!.map(({ perSecond }, round) => perSecond / runs[0]![round]!.perSecond);
    const of = (pick: (run: Measured) => number) => median(runs[n]!.map(pick));
    figure(`${kind}, ${connections} connections, ${name}`, of(({ perSecond }) => perSecond), "/s");
    console.log(
      `${kind}, ${connections} connections, ${name}`.padEnd(40) +
        ` ${of(({ perSecond }) => perSecond).toFixed(0).padStart(6)}/s` +
        `  ratio ${median(ratios).toFixed(3)}` +
        `  p50 ${of(({ p50Ms }) => p50Ms).toFixed(2)} ms` +
        `  p99 ${of(({ p99Ms }) => p99Ms).toFixed(2)} ms`,
    );
  }
}

/** What one request costs on a shared store. */
async function showCosts(): Promise<void> {
  await using costs = await openCosts();
  const paths = {
    GET: `/api/v1/agents/${costs.agent.id}`,
    "exec at the link's own instance": `/api/exec/${costs.agent.id}?command=uname`,
  };
  for (const [kind, path] of Object.entries(paths)) {
    const { reads, commits } = await costs.cost(path, costs.key);
    figure(`${kind}, reads`, reads, "");
    figure(`${kind}, commits`, commits, "");
    console.log(`${kind}: ${reads} reads and ${commits} commits, which requests may share`);
  }
}
