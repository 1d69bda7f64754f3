import { logLength, signUp, type Tenant } from "./client.ts";
import { benchShield } from "./shield.ts";
import { endAll, get, measure, type Measured, median, residentKiB, start } from "./parts.ts";

/**
 * Side by side, in one run: what a request costs against a bare route that does nothing else. Machines are
 * shared and noisy, so ratios of medians over interleaved rounds are what counts.
 */
const ROUNDS = Number(Deno.env.get("BENCH_ROUNDS") ?? 5);
const SECONDS = Number(Deno.env.get("BENCH_SECONDS") ?? 2);
const only = Deno.args.find((arg) => arg !== "--");
if (only === undefined || only === "shield") benchShield();
if (only === "shield") Deno.exit(0);

interface Pair {
  readonly bare: Measured[];
  readonly ours: Measured[];
  /** Every request that was answered here, the warming ones too. */
  answered: number;
}

async function rounds(
  connections: number,
  bare: [port: number, requests: string[]],
  ours: [port: number, requests: string[]],
): Promise<Pair> {
  const warm = await measure(ours[0], connections, 2, ours[1]);
  const pair: Pair = { bare: [], ours: [], answered: warm.answered };
  for (let round = 0; round < ROUNDS; round++) {
    pair.bare.push(await measure(bare[0], connections, SECONDS, bare[1]));
    const run = await measure(ours[0], connections, SECONDS, ours[1]);
    pair.ours.push(run);
    pair.answered += run.answered;
  }
  return pair;
}

function report(name: string, { bare, ours }: Pair): void {
  const per = (runs: Measured[]) => median(runs.map((run) => run.perSecond));
  const p50 = (runs: Measured[]) => median(runs.map((run) => run.p50Ms)).toFixed(2);
  const p99 = (runs: Measured[]) => median(runs.map((run) => run.p99Ms)).toFixed(2);
  const ratio = median(ours.map((run, n) => run.perSecond / bare[n]!.perSecond));
  const bad = ours.flatMap((run) => Object.keys(run.statuses)).filter((status) => status !== "200");
  console.log(
    `${name.padEnd(44)} bare ${per(bare).toFixed(0).padStart(7)}/s  ours ${
      per(ours).toFixed(0).padStart(6)
    }/s  ratio ${ratio.toFixed(3)}  p50 ${p50(bare)} → ${p50(ours)} ms  p99 ${p99(bare)} → ${
      p99(ours)
    } ms${bad.length > 0 ? `  STATUSES ${JSON.stringify(ours.at(-1)!.statuses)}` : ""}`,
  );
}

const http = await start<{ port: number }>("bare_http.ts");
const barePath = get("/api/v1/agents/agt_1");
const relay = await start<{ port: number }>("relay.ts");
const base = `http://127.0.0.1:${relay.ready.port}`;

async function tenant(n: number): Promise<Tenant> {
  const account = await signUp(base, n);
  const agent = await start<{ ids: string[] }>("echo_agent.ts", [base, account.key]);
  if (n > 0) agent.child.kill("SIGTERM"); // its record stays
  return { ...account, agentId: agent.ready.ids[0]! };
}

const readOf = ({ key, agentId }: Tenant) => get(`/api/v1/agents/${agentId}`, { "x-api-key": key });

/** Signing up hashes passwords and starts processes: one at a time. */
async function tenants(from: number, to: number): Promise<Tenant[]> {
  const made: Tenant[] = [];
  for (let n = from; n < to; n++) made.push(await tenant(n));
  return made;
}

async function reads(name: string, tenants: readonly Tenant[]): Promise<void> {
  for (const connections of [32, 128]) {
    const lengths = () => Promise.all(tenants.map(({ token }) => logLength(base, token)));
    const total = (all: number[]) => all.reduce((sum, n) => sum + n, 0);
    const before = total(await lengths());
    const pair = await rounds(connections, [http.ready.port, [barePath]], [
      relay.ready.port,
      tenants.map(readOf),
    ]);
    report(`${name}, ${connections} connections`, pair);
    const rows = total(await lengths()) - before;
    console.log(`  ${pair.answered} requests answered, ${rows} audit rows written for them`);
    if (rows !== pair.answered) throw new Error("an answered request is not in the audit trail");
  }
}

try {
  const first = await tenant(0);
  if (only === undefined || only === "read") {
    await reads("audited read, 1 organization", [first]);
    await reads("audited read, 100 organizations", [first, ...await tenants(1, 100)]);
  }
  if (only === undefined || only === "exec") await exec(first);
  if (only === undefined || only === "memory") await memory();
} finally {
  endAll();
}

async function exec(first: Tenant): Promise<void> {
  const bare = await start<{ port: number }>("bare_relay.ts");
  await start("echo_agent.ts", [`http://127.0.0.1:${bare.ready.port}`, ""]);
  const path = `/api/exec/${first.agentId}?command=uptime`;
  for (const connections of [1, 32, 128]) {
    const pair = await rounds(connections, [bare.ready.port, [get(path)]], [
      relay.ready.port,
      [get(path, { "x-api-key": first.key })],
    ]);
    report(`exec to an agent that answers, ${connections} connections`, pair);
  }
}

/**
 * What an agent costs the relay in memory: what the second 2,000 add to the first. A relay that has just
 * started would count its own growth, one that has been busy would hide agents in what it freed.
 */
async function memory(): Promise<void> {
  const { pid } = relay.child;
  const account = await signUp(base, 1000);
  const connect = async () => {
    const args = [base, account.key, "2000"];
    return (await start<{ ids: string[] }>("echo_agent.ts", args)).ready.ids;
  };
  await commandEach(await connect(), account.key);
  const before = residentKiB(pid);
  const ids = await connect();
  const idle = residentKiB(pid);
  await commandEach(ids, account.key);
  const after = residentKiB(pid);
  const each = (kib: number) => `${((kib - before) / ids.length).toFixed(1)} KiB`;
  console.log(`2000 agents: ${each(idle)} each idle, ${each(after)} after a command each`);
}

async function commandEach(ids: readonly string[], key: string): Promise<void> {
  const headers = { "x-api-key": key };
  for (let at = 0; at < ids.length; at += 32) {
    await Promise.all(
      ids.slice(at, at + 32).map(async (id) => {
        const response = await fetch(`${base}/api/exec/${id}?command=uptime`, { headers });
        if (!response.ok) throw new Error(await response.text());
        await response.body?.cancel();
      }),
    );
  }
}
