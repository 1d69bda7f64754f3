import { callOf, readOf } from "../reads.ts";
import { endAll, endToo, get, lines, measure, mustAll, ROOT, start } from "../parts.ts";
import { toHealthz, toReady } from "../start.ts";
import { BATCHES, openReaders, PLAIN, publisherOf, type Readers } from "../streams/burst.ts";
import { type Loaded, openRelay } from "../target.ts";
import { arrivals, type Receiver, type Sender, startSender } from "../webhooks.ts";

/**
 * This repository beside another checkout of it, by turns in one run:
 * `bench:paired --against FOLDER [--rounds 9] [--seconds 2] [NAME…]`. For each benchmark it prints the geometric mean of the speed ratios (above 1: this one is faster) and its 95 % interval.
 */
interface Side {
  readonly root: string;
  /** The relay of this side, started at the first use. */
  relay(): Promise<Loaded>;
}

/** Measures one side: how much it did in a second. */
type Run = (side: Side) => Promise<number>;

const option = (name: string, otherwise?: string): string => {
  const at = Deno.args.indexOf(`--${name}`);
  const value = at < 0 ? otherwise : Deno.args[at + 1];
  if (value === undefined) fail(`--${name} needs a value`);
  return value;
};

const against = option("against");
const rounds = Number(option("rounds", "9"));
const seconds = Number(option("seconds", "2"));
const names = Deno.args.filter((argument, n) =>
  !argument.startsWith("--") && !Deno.args[n - 1]?.startsWith("--")
);

const requests =
  (connections: number, requestOf: (relay: Loaded) => string): Run => async (side) => {
    const relay = await side.relay();
    const run = await measure(relay.port, connections, seconds, [requestOf(relay)]);
    mustAll(run, "200");
    return run.perSecond;
  };
const command = ({ agentId, key }: Loaded) =>
  get(`/api/exec/${agentId}?command=uptime`, { "x-api-key": key });

const BENCHMARKS: Readonly<Record<string, Readonly<Record<string, Run>>>> = {
  read: {
    "audited read, 32 connections": requests(32, readOf),
    "audited read, 128 connections": requests(128, readOf),
  },
  exec: {
    "exec, 1 connection": requests(1, command),
    "exec, 32 connections": requests(32, command),
    "exec, 128 connections": requests(128, command),
  },
  mcp: { "MCP tools/call, 32 connections": requests(32, callOf) },
  webhooks: { "webhooks over http": webhooks() },
  shield: { "shield, daily work": shield() },
  start: {
    "starts to the first /healthz": starts(toHealthz),
    "starts until ready": starts(toReady),
  },
  streams: { "burst to 1,000 sockets": bursts(PLAIN) },
  batches: { "burst to sockets, in batches": bursts(BATCHES) },
};

if (!(rounds >= 2)) fail("--rounds needs a number of at least 2");
if (!(seconds > 0)) fail("--seconds needs a number above 0");
const unknown = names.filter((name) => !Object.hasOwn(BENCHMARKS, name));
if (unknown.length > 0) {
  fail(
    `There is no benchmark ${unknown.join(", ")}. There are: ${Object.keys(BENCHMARKS).join(", ")}`,
  );
}

const sides = [ROOT, `${await Deno.realPath(against)}/`].map(sideOf) as [Side, Side];
try {
  for (const name of names.length > 0 ? names : Object.keys(BENCHMARKS)) {
    for (const [title, run] of Object.entries(BENCHMARKS[name]!)) await compare(title, run);
  }
} finally {
  endAll();
}
Deno.exit();

function fail(message: string): never {
  console.error(message);
  Deno.exit(2);
}

function sideOf(root: string): Side {
  let relay: Promise<Loaded> | null = null;
  return { root, relay: () => relay ??= openRelay(root) };
}

/** Runs both sides in each round, the first one by turns, after a round that does not count. */
async function compare(title: string, run: Run): Promise<void> {
  const ratios: number[] = [];
  for (let round = -1; round < rounds; round++) {
    const order = round % 2 === 0 ? [0, 1] : [1, 0];
    const rates = [0, 0];
    for (const n of order) rates[n] = await run(sides[n]!);
    if (round >= 0) ratios.push(rates[0]! / rates[1]!);
  }
  const [low, mean, high] = interval(ratios).map((ratio) => ratio.toFixed(3));
  const shown = ratios.map((ratio) => ratio.toFixed(2)).join(" ");
  console.log(`${title.padEnd(32)} ratio ${mean}, 95 % interval ${low} to ${high}   (${shown})`);
}

/** The geometric mean of some ratios and its 95 % interval, by Student's distribution of their logarithms. */
function interval(ratios: readonly number[]): [number, number, number] {
  const logs = ratios.map(Math.log);
  const mean = logs.reduce((sum, log) => sum + log, 0) / logs.length;
  const variance = logs.reduce((sum, log) => sum + (log - mean) ** 2, 0) / (logs.length - 1);
  const half = studentOf(logs.length - 1) * Math.sqrt(variance / logs.length);
  return [Math.exp(mean - half), Math.exp(mean), Math.exp(mean + half)];
}

/** The 97.5 % quantile of Student's distribution: exact to 10 degrees of freedom, then expanded from the normal one. */
function studentOf(degrees: number): number {
  const exact = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
  return exact[degrees - 1] ?? 1.96 + 2.373 / degrees + 2.823 / degrees ** 2;
}

/** Deliveries a second to 50 webhooks. */
function webhooks(): Run {
  const [hooks, events] = [50, Math.ceil(60 * seconds)];
  let receiver: Promise<Receiver> | null = null;
  const senders = new Map<Side, Promise<Sender>>();
  return async (side) => {
    receiver ??= start<Receiver>("hook_receiver.ts").then(({ ready }) => ready);
    const there = await receiver;
    const url = `http://localhost:${there.http}/`;
    if (!senders.has(side)) senders.set(side, startSender(url, hooks, there, 0, side.root));
    const { tookMs } = await (await senders.get(side)!).commit(events, "delivered");
    const came = (await arrivals(there, hooks * events)).length;
    if (came !== hooks * events) throw new Error(`${came} of ${hooks * events} deliveries came`);
    return came / tookMs * 1000;
  };
}

/** Messages a second of a burst of events to 1,000 WebSockets by this subprotocol, or by what the side has instead. */
function bursts(protocol: string): Run {
  const all = new Map<Side, Promise<Readers>>();
  const open = async (side: Side) => {
    const relay = await side.relay();
    const known = await import(`file://${side.root}routes/http/protocols.ts`);
    const has = Object.values(known).includes(protocol);
    return await openReaders(publisherOf(relay), 1_000, has ? protocol : PLAIN);
  };
  return async (side) => {
    if (!all.has(side)) all.set(side, open(side));
    return await (await all.get(side)!).burst(Math.ceil(200 * seconds));
  };
}

/** Commands judged in a second, in a process of each side. */
function shield(): Run {
  const judges = new Map<Side, Promise<{ next(): Promise<number> }>>();
  return async (side) => {
    if (!judges.has(side)) judges.set(side, startJudge(side.root));
    return await (await judges.get(side)!).next();
  };
}

async function startJudge(root: string): Promise<{ next(): Promise<number> }> {
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

/** Starts in a second, one after the other, on a store of each side. */
function starts(start: (main: string, folder: string) => Promise<number>): Run {
  const stores = Deno.makeTempDirSync({ prefix: "relay-bench-" });
  endToo({ kill: () => Deno.removeSync(stores, { recursive: true }) });
  return async ({ root }) =>
    1000 / await start(`file://${root}main.ts`, `${stores}/${root.replaceAll("/", "-")}`);
}
