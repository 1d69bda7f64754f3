import type { Client } from "../clients/status_client.ts";
import { findDenokv, startDenokv } from "./denokv.ts";
import { type Instance, openCluster, startAgent, startInstance } from "./parts.ts";
import { roundRobin } from "./round_robin.ts";

/**
 * Shows several instances at work: three relays over one denokv server and a proxy that spreads connections over
 * them. A command crosses instances, an instance is killed with a command under way, and its agent comes back. Ends
 * with 0 only if all of that happened.
 */
const INSTALL =
  "denokv was not found. Install it with `cargo install denokv --version 0.14.0`, or " +
  "name it in the environment variable DENOKV.";
/** A dead instance is noticed after 15 to 20 s, and its agent dials again meanwhile. */
const RECOVERY_MS = 25_000;

const denokv = await findDenokv();
if (denokv === null) {
  console.error(INSTALL);
  Deno.exit(2);
}
const folder = await Deno.makeTempDir({ prefix: "relay-cluster-" });
const running: Instance[] = [];
const cleanup: (() => unknown)[] = [() => Deno.remove(folder, { recursive: true })];
try {
  await show(denokv);
  console.log("\nEverything recovered.");
} catch (error) {
  console.error(`\nThe cluster failed: ${(error as Error).stack}`);
  for (const { relay, url } of running) console.error(`\n${url}:\n${relay.lines.join("\n")}`);
  Deno.exitCode = 1;
} finally {
  for (const end of cleanup.reverse()) await end();
}
Deno.exit();

async function show(denokv: string): Promise<void> {
  const kv = await startDenokv(denokv, `${folder}/store.sqlite`);
  cleanup.push(kv.kill);
  console.log(`denokv     ${kv.url}`);
  const instances = [await startInstance(kv), await startInstance(kv), await startInstance(kv)];
  for (const { relay, url } of instances) {
    cleanup.push(relay.kill);
    running.push({ relay, url });
    console.log(`instance   ${url}`);
  }
  const proxy = roundRobin(instances.map(({ url }) => url));
  cleanup.push(proxy.close);
  console.log(`proxy      ${proxy.url}`);
  const { key, clients } = await openCluster(instances);
  const agents = [];
  for (const [n, url] of [instances[0]!.url, proxy.url].entries()) {
    const agent = await startAgent({ url, key, folder, name: `machine-${n + 1}` });
    cleanup.push(agent.program.kill);
    agents.push(agent);
    console.log(`agent      ${agent.id} through ${url}`);
  }
  for (const { id } of agents) {
    for (const [n, client] of clients.entries()) {
      const startedMs = performance.now();
      const said = await exec(client, id, "echo crossed");
      if (said !== "crossed\n") throw new Error(`the agent said ${JSON.stringify(said)}`);
      const tookMs = Math.round(performance.now() - startedMs);
      console.log(`${id} asked through instance ${n + 1}: ${said.trim()} in ${tookMs} ms`);
    }
  }
  const { id } = agents[0]!;
  const path = `/api/v1/agents/${id}/commands`;
  const begun = await clients[1]!<{ command_id: string }>("POST", path, { command: "sleep 600" });
  const command = `${path}/${begun.body.command_id}`;
  const statusOf = async () => (await clients[1]!<{ status: string }>("GET", command)).body.status;
  await until("\nthe command runs", performance.now(), async () => await statusOf() === "running");
  console.log(`kill -9 of instance 1 with a command of ${id} under way`);
  const killedMs = performance.now();
  await instances[0]!.relay.kill();
  await agents[0]!.program.kill();
  await until("the command is lost", killedMs, async () => await statusOf() === "lost");
  await until("the agent is offline", killedMs, async () => {
    const agent = await clients[2]!<{ status: string }>("GET", `/api/v1/agents/${id}`);
    return agent.body.status === "offline";
  });
  const again = await startAgent({ url: proxy.url, key, folder, name: "machine-1" });
  cleanup.push(again.program.kill);
  if (again.id !== id) throw new Error("the agent came back as another one");
  await until(
    "the agent runs commands again",
    killedMs,
    async () => await exec(clients[2]!, id, "echo back") === "back\n",
  );
}

async function exec(client: Client, agentId: string, command: string): Promise<string> {
  const query = new URLSearchParams({ command });
  const { status, body } = await client<{ stdout: string }>("GET", `/api/exec/${agentId}?${query}`);
  if (status !== 200) throw new Error(`the command was answered ${status} ${JSON.stringify(body)}`);
  return body.stdout;
}

/** Waits until something is so, and prints when it was. @throws {Error} when it takes too long */
async function until(what: string, sinceMs: number, isSo: () => Promise<boolean>): Promise<void> {
  while (!await isSo()) {
    if (performance.now() - sinceMs > RECOVERY_MS) throw new Error(`not in time: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
  console.log(`${what} after ${((performance.now() - sinceMs) / 1000).toFixed(1)} s`);
}
