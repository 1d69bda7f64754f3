import { get, lines, measure, median, mustAll, start } from "../parts.ts";
import { callOf, readOf } from "../reads.ts";
import { toHealthz, toReady } from "../start.ts";
import { BATCHES, openReaders, PLAIN, publisherOf, type Readers } from "../streams/burst.ts";
import { type Loaded, withAgent } from "../target.ts";
import type { Tenant } from "../client.ts";
import type { Run, Side } from "./side.ts";
import { agentsInMemory, agentStarts, runsOf, starts } from "./starts.ts";
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
  streams: {
    "burst to 1,000 sockets": bursts(seconds, PLAIN),
    "one event to 1,000 sockets": singles(seconds),
  },
  batches: { "burst to sockets, in batches": bursts(seconds, BATCHES) },
  memory: { "agents in a MiB": agentsInMemory(1_000) },
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
  const run = await measure(relay.port, connections, seconds, all);
  mustAll(run, "200");
  return run.perSecond;
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
    if (!senders.has(side)) senders.set(side, startSender(url, hooks, there, 0, side.root));
    const { tookMs } = await (await senders.get(side)!).commit(events, "delivered");
    const came = (await arrivals(there, hooks * events)).length;
    if (came !== hooks * events) throw new Error(`${came} of ${hooks * events} deliveries came`);
    return came / tookMs * 1000;
  };
}

/** Readers of each side at 1,000 WebSockets by this subprotocol, or by what the side has instead. */
function readersBy(protocol: string): (side: Side) => Promise<Readers> {
  const all = new Map<Side, Promise<Readers>>();
  const open = async (side: Side) => {
    const relay = await side.relay();
    const known = await import(`file://${side.root}routes/http/protocols.ts`);
    const has = Object.values(known).includes(protocol);
    return await openReaders(publisherOf(relay), 1_000, has ? protocol : PLAIN);
  };
  return (side) => {
    if (!all.has(side)) all.set(side, open(side));
    return all.get(side)!;
  };
}

/** Messages a second of a burst of events. */
function bursts(seconds: number, protocol: string): Run {
  const readersOf = readersBy(protocol);
  return async (side) => await (await readersOf(side)).burst(Math.ceil(200 * seconds));
}

/** How often in a second one event could reach the last of 1,000 WebSockets: the median of many. */
function singles(seconds: number): Run {
  const readersOf = readersBy(PLAIN);
  return async (side) => {
    const readers = await readersOf(side);
    const tookMs: number[] = [];
    while (tookMs.length < 25 * seconds) tookMs.push(await readers.single());
    return 1000 / median(tookMs);
  };
}

/** Commands judged in a second, in a process of each side. */
function shield(seconds: number): Run {
  const judges = new Map<Side, Promise<{ next(): Promise<number> }>>();
  return async (side) => {
    if (!judges.has(side)) judges.set(side, startJudge(side.root, seconds));
    return await (await judges.get(side)!).next();
  };
}

async function startJudge(root: string, seconds: number): Promise<{ next(): Promise<number> }> {
  const judge = await start(
    "paired/judge.ts",
    [root, `${seconds}`],
    {},
    `${root}deno.json`,
    "piped",
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
