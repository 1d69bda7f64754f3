import { logLength, signUp, type Tenant } from "./client.ts";
import { benchAudit } from "./audit.ts";
import { benchShield } from "./shield.ts";
import { stalled } from "./stalled.ts";
import { fanOut, idleSubscribers } from "./streams.ts";
import { benchSequencing } from "./sequencing.ts";
import { wrongPasswords } from "./logins.ts";
import { refusals, unknownKeys } from "./limits.ts";
import { endAll, get, HERE, post, residentKiB, start } from "./parts.ts";
import { realAgent } from "./real_agent.ts";
import { benchReplay } from "./replay.ts";
import { report, rounds } from "./rounds.ts";
import { benchWebhooks } from "./webhooks.ts";

/**
 * Side by side, in one run: what a request costs against a bare route that does nothing else. Machines are
 * shared and noisy, so ratios of medians over interleaved rounds are what counts.
 */
const only = Deno.args.find((arg) => arg !== "--");
if (only === undefined || only === "audit") {
  await benchAudit();
  await benchSequencing();
}
if (only === "sequencing") await benchSequencing();
if (only === "sequencing") Deno.exit(0);
if (only === "audit") Deno.exit(0);
if (only === undefined || only === "shield") benchShield();
if (only === "shield") Deno.exit(0);
if (only === undefined || only === "replay") await benchReplay();
if (only === "replay") Deno.exit(0);
if (only === undefined || only === "webhooks") await benchWebhooks().finally(endAll);
if (only === "webhooks") Deno.exit(0);

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

/** A tool call as a client of the current revision sends it. */
function callOf({ key, agentId }: Tenant): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  const params = { name: "agents_get", arguments: { id: agentId }, _meta };
  return post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, {
    "x-api-key": key,
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "agents_get",
  });
}

const bareCall = post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });

async function reads(
  name: string,
  tenants: readonly Tenant[],
  bare = barePath,
  requestOf = readOf,
): Promise<void> {
  for (const connections of [32, 128]) {
    const lengths = () => Promise.all(tenants.map(({ token }) => logLength(base, token)));
    const total = (all: number[]) => all.reduce((sum, n) => sum + n, 0);
    const before = total(await lengths());
    const pair = await rounds(connections, [http.ready.port, [bare]], [
      relay.ready.port,
      tenants.map(requestOf),
    ]);
    report(`${name}, ${connections} connections`, pair);
    // Each look at the lengths before left a row of its own.
    const rows = total(await lengths()) - before - tenants.length;
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
  if (only === undefined || only === "mcp") {
    await reads("MCP tools/call of a read tool", [first], bareCall, callOf);
  }
  if (only === "mcp-others") await mcpBesideOthers(first);
  if (only === undefined || only === "exec") await exec(first);
  if (only === undefined || only === "agent") {
    await realAgent({ base, port: relay.ready.port, ...first });
  }
  if (only === undefined || only === "refuse") await refusals(http.ready.port, barePath);
  if (only === undefined || only === "memory") await memory();
  if (only === undefined || only === "logins") await wrongPasswords(base);
  if (only === undefined || only === "streams") {
    const { port } = relay.ready;
    const target = { base, port, pid: relay.child.pid, ...first };
    await idleSubscribers(target);
    await fanOut(target);
  }
  if (only === "stalled") await stalled({ base, port: relay.ready.port, ...first });
  if (only === undefined || only === "better-auth") await betterAuth(first);
  if (only === "unknown") await unknownKeys();
} finally {
  endAll();
}

/** The same read, its key verified by better-auth, which is downloaded at the first run. */
async function betterAuth(first: Tenant): Promise<void> {
  const [script, config] = ["better_auth/server.ts", `${HERE}better_auth/deno.json`];
  const theirs = await start<{ port: number; key: string }>(script, [], {}, config);
  const { port, key } = theirs.ready;
  const request = get("/api/v1/agents/agt_1", { "x-api-key": key });
  for (const connections of [32, 128]) {
    const ours: [number, string[]] = [relay.ready.port, [readOf(first)]];
    const pair = await rounds(connections, [port, [request]], ours);
    const statuses = pair.bare.flatMap(({ statuses }) => Object.keys(statuses));
    if (statuses.some((status) => status !== "200")) {
      throw new Error(`better-auth answered ${statuses}`);
    }
    report(`audited read beside better-auth, ${connections} connections`, pair, {
      other: "better-auth",
    });
  }
  theirs.child.kill("SIGTERM");
}

/** MCP with everything on, beside the official server with nothing on, and with 1,000 tools more. */
async function mcpBesideOthers(first: Tenant): Promise<void> {
  const packages = new URL("../mcp/packages/", import.meta.url).pathname;
  const sdk = await start<{ port: number }>(
    "../mcp/packages/sdk_server.ts",
    [],
    {},
    `${packages}deno.json`,
  );
  const call = post("/mcp", {
    jsonrpc: "2.0",
    id: 1,
    method: "tools/call",
    params: { name: "agents_get", arguments: { id: "x" } },
  }, { "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25" });
  const ours: [number, string[]] = [relay.ready.port, [callOf(first)]];
  report("MCP beside the official server", await rounds(32, [sdk.ready.port, [call]], ours));
  const many = await start<{ port: number }>("relay.ts", ["2000000000", "1000"]);
  const there = `http://127.0.0.1:${many.ready.port}`;
  const account = await signUp(there, 0);
  const agent = await start<{ ids: string[] }>("echo_agent.ts", [there, account.key]);
  const same = callOf({ ...account, agentId: agent.ready.ids[0]! });
  const pair = await rounds(32, ours, [many.ready.port, [same]]);
  report("MCP with 1,000 tools more, beside without", pair);
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
