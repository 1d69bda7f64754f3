import { cpuMsOf, get, lines, measure, mustAll, start } from "../parts.ts";
import { callOf, readOf } from "../reads.ts";
import { toHealthz, toReady } from "../start.ts";
import { BATCHES, PLAIN } from "../streams/burst.ts";
import { type Loaded, withAgent } from "../target.ts";
import type { Tenant } from "../client.ts";
import type { Run, Side } from "./side.ts";
import { agentsInMemory, agentStarts, runsOf, starts } from "./starts.ts";
import { bursts, singles } from "./streams.ts";
import { arrivals, type Receiver, type Sender, startSender } from "../webhooks.ts";

/** What can be compared, by the name that chooses it, and by title. */
export const benchmarks = (
  seconds: number,
): Readonly<Record<string, Readonly<Record<string, Run>>>> => ({
  read: {
    "audited read, 32 connections": requests(seconds, 32, readOf),
    "audited read, 128 connections": requests(seconds, 128, readOf),
  },
  organizations: organizations(seconds, 100),
  exec: {
    "exec, 1 connection": requests(seconds, 1, command),
    "exec, 32 connections": requests(seconds, 32, command),
    "exec, 128 connections": requests(seconds, 128, command),
  },
  mcp: {
    "MCP tools/call, 32 connections": requests(seconds, 32, callOf),
    "MCP tools/call, 128 connections": requests(seconds, 128, callOf),
  },
  webhooks: {
    "webhooks over http": webhooks(seconds, "http"),
    "webhooks over https": webhooks(seconds, "https"),
  },
  shield: { "shield, daily work": shield(seconds) },
  start: {
    "starts to the first /healthz": starts(toHealthz),
    "starts until ready": starts(toReady),
    "starts of an agent to its link": agentStarts(),
    "runs of --help": runsOf("--help"),
  },
  memory: { "agents in a MiB": agentsInMemory(1_000) },
  streams: {
    "burst to 1,000 sockets": bursts(seconds, PLAIN),
    "one event to 1,000 sockets": singles(seconds),
  },
  batches: { "burst to sockets, in batches if it can": bursts(seconds, BATCHES) },
});

/** Requests a second, by turns of some organizations, or of the first one. */
const requests = (
  seconds: number,
  connections: number,
  requestOf: (tenant: Tenant) => string,
  tenantsOf = (relay: Loaded): Promise<readonly Tenant[]> => Promise.resolve([relay]),
): Run =>
async (side) => {
  const relay = await side.relay();
  const all = (await tenantsOf(relay)).map(requestOf);
  const beforeMs = cpuMsOf(relay.pid);
  const run = await measure(relay.port, connections, seconds, all);
  mustAll(run, "200");
  return { per: run.perSecond, cpuMs: (cpuMsOf(relay.pid) - beforeMs) / run.answered };
};

const command = ({ agentId, key }: Tenant) =>
  get(`/api/exec/${agentId}?command=uptime`, { "x-api-key": key });

/** Audited reads of many organizations. */
function organizations(seconds: number, count: number): Readonly<Record<string, Run>> {
  const all = new Map<Loaded, Promise<readonly Tenant[]>>();
  const open = async (relay: Loaded) => {
    const others: Tenant[] = [relay];
    while (others.length < count) others.push(await withAgent(relay.base, others.length));
    return others;
  };
  const tenantsOf = (relay: Loaded) => {
    if (!all.has(relay)) all.set(relay, open(relay));
    return all.get(relay)!;
  };
  return {
    [`read of ${count} organizations, 32`]: requests(seconds, 32, readOf, tenantsOf),
    [`read of ${count} organizations, 128`]: requests(seconds, 128, readOf, tenantsOf),
  };
}

/** Deliveries a second to 50 webhooks. */
function webhooks(seconds: number, scheme: "http" | "https"): Run {
  const [hooks, events] = [50, Math.ceil(60 * seconds)];
  let receiver: Promise<Receiver> | null = null;
  const senders = new Map<Side, Promise<Sender>>();
  return async (side) => {
    receiver ??= start<Receiver>("hook_receiver.ts").then(({ ready }) => ready);
    const there = await receiver;
    const url = `${scheme}://localhost:${there[scheme]}/`;
    if (!senders.has(side)) {
      senders.set(side, startSender(url, hooks, there, 0, side.root, side.flags));
    }
    const { tookMs, cpuMs } = await (await senders.get(side)!).commit(events, "delivered");
    const came = (await arrivals(there, hooks * events)).length;
    if (came !== hooks * events) throw new Error(`${came} of ${hooks * events} deliveries came`);
    return { per: came / tookMs * 1000, cpuMs: cpuMs / came };
  };
}

/** Commands judged in a second, in a process of each side. */
function shield(seconds: number): Run {
  const judges = new Map<Side, Promise<{ next(): Promise<number> }>>();
  return async (side) => {
    if (!judges.has(side)) judges.set(side, startJudge(side, seconds));
    return { per: await (await judges.get(side)!).next() };
  };
}

async function startJudge(
  { root, flags }: Side,
  seconds: number,
): Promise<{ next(): Promise<number> }> {
  const judge = await start(
    "paired/judge.ts",
    [root, `${seconds}`],
    {},
    `${root}deno.json`,
    "piped",
    flags,
  );
  const rates = lines<number>(judge);
  const stdin = judge.child.stdin.getWriter();
  return {
    async next() {
      await stdin.write(new TextEncoder().encode("\n"));
      return (await rates.next()).value!;
    },
  };
}
