import { logLength, signUp, type Tenant } from "./client.ts";
import { figure } from "./figures.ts";
import { get, HERE, post, residentKiB, start } from "./parts.ts";
import { report, rounds } from "./rounds.ts";
import { CONNECTIONS, sized } from "./size.ts";
import { type Loaded, type Target, withAgent } from "./target.ts";

const BARE_PATH = get("/api/v1/agents/agt_1");
/** The read of an organization's agent. */
export const readOf = ({ key, agentId }: Tenant) =>
  get(`/api/v1/agents/${agentId}`, { "x-api-key": key });

/** A tool call as a client of the current revision sends it. */
export function callOf({ key, agentId }: Tenant): string {
  const _meta = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  // The name of version 0.1.0, so that checkouts before and after can be compared.
  const params = { name: "agents_get", arguments: { id: agentId }, _meta };
  return post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params }, {
    "x-api-key": key,
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": "2026-07-28",
    "Mcp-Method": "tools/call",
    "Mcp-Name": "agents_get",
  });
}

/** An audited read of one organization's agent, and of many organizations' agents by turns. */
export async function manyReads(target: Target): Promise<void> {
  await reads("audited read, 1 organization", target, [target]);
  const organizations = sized(100, 3);
  const others: Tenant[] = [];
  // Signing up hashes passwords and starts processes: one at a time.
  for (let n = 1; n < organizations; n++) others.push(await withAgent(target.base, n));
  await reads(`audited read, ${organizations} organizations`, target, [target, ...others]);
}

/** The same read as an MCP tool. */
export async function mcpReads(target: Target): Promise<void> {
  const bareCall = post("/mcp", { jsonrpc: "2.0", id: 1, method: "tools/call", params: {} });
  await reads("MCP tools/call of a read tool", target, [target], bareCall, callOf);
}

async function reads(
  name: string,
  { base, port, barePort }: Target,
  tenants: readonly Tenant[],
  bare = BARE_PATH,
  requestOf = readOf,
): Promise<void> {
  for (const connections of CONNECTIONS) {
    const lengths = () => Promise.all(tenants.map(({ token }) => logLength(base, token)));
    const total = (all: number[]) => all.reduce((sum, n) => sum + n, 0);
    const before = total(await lengths());
    const ours: [number, string[]] = [port, tenants.map(requestOf)];
    const pair = await rounds(connections, [barePort, [bare]], ours);
    report(`${name}, ${connections} connections`, pair);
    // Each look at the lengths before left a row of its own.
    const rows = total(await lengths()) - before - tenants.length;
    console.log(`  ${pair.answered} requests answered, ${rows} audit rows written for them`);
    if (rows !== pair.answered) throw new Error("an answered request is not in the audit trail");
  }
}

/** The same read, its key verified by better-auth, which is downloaded at the first run. */
export async function betterAuth(target: Target): Promise<void> {
  const [script, config] = ["better_auth/server.ts", `${HERE}better_auth/deno.json`];
  const theirs = await start<{ port: number; key: string }>(script, [], {}, config);
  const { port, key } = theirs.ready;
  const request = get("/api/v1/agents/agt_1", { "x-api-key": key });
  for (const connections of CONNECTIONS) {
    const ours: [number, string[]] = [target.port, [readOf(target)]];
    const pair = await rounds(connections, [port, [request]], ours);
    report(`audited read beside better-auth, ${connections} connections`, pair, {
      other: "better-auth",
    });
  }
  theirs.child.kill("SIGTERM");
}

/** MCP with everything on, beside the official server with nothing on, and with 1,000 tools more. */
export async function mcpBesideOthers(target: Target): Promise<void> {
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
  const ours: [number, string[]] = [target.port, [callOf(target)]];
  report("MCP beside the official server", await rounds(32, [sdk.ready.port, [call]], ours));
  const many = await start<{ port: number }>("relay.ts", ["2000000000", "1000"]);
  const there = `http://127.0.0.1:${many.ready.port}`;
  const same = callOf(await withAgent(there, 0));
  const pair = await rounds(32, ours, [many.ready.port, [same]]);
  report("MCP with 1,000 tools more, beside without", pair);
}

/** A command to an agent that answers at once, beside a relay that only passes it on. */
export async function exec({ port, agentId, key }: Target): Promise<void> {
  const bare = await start<{ port: number }>("bare_relay.ts");
  await start("echo_agent.ts", [`http://127.0.0.1:${bare.ready.port}`, ""]);
  const path = `/api/exec/${agentId}?command=uptime`;
  for (const connections of [1, ...CONNECTIONS]) {
    const ours: [number, string[]] = [port, [get(path, { "x-api-key": key })]];
    const pair = await rounds(connections, [bare.ready.port, [get(path)]], ours);
    report(`exec to an agent that answers, ${connections} connections`, pair);
  }
}

/** What an agent costs the relay in memory. */
export async function agentMemory(target: Target): Promise<void> {
  const count = sized(2000, 20);
  const { idle, used } = await agentKiB(target, count);
  figure("an agent after a command, resident", used, "KiB");
  const shown = [idle, used].map((kib) => `${kib.toFixed(1)} KiB`);
  console.log(`${count} agents: ${shown[0]} each idle, ${shown[1]} after a command each`);
}

/**
 * KiB of a relay for each agent that is idle, and after a command: what the second `count` add to the first. A
 * relay that has just started would count its own growth, one that has been busy would hide agents in what it freed.
 */
export async function agentKiB(
  { base, pid }: Loaded,
  count: number,
): Promise<{ idle: number; used: number }> {
  const account = await signUp(base, 1000);
  const connect = async () => {
    const args = [base, account.key, `${count}`];
    return (await start<{ ids: string[] }>("echo_agent.ts", args)).ready.ids;
  };
  await commandEach(base, await connect(), account.key);
  const before = residentKiB(pid);
  const ids = await connect();
  const idle = residentKiB(pid);
  await commandEach(base, ids, account.key);
  return { idle: (idle - before) / count, used: (residentKiB(pid) - before) / count };
}

async function commandEach(base: string, ids: readonly string[], key: string): Promise<void> {
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
