import assert from "node:assert/strict";
import { type Client, clientOf, expectStatus } from "../clients/status_client.ts";
import { startReceiver } from "../../core/cli/receiver.ts";
import { after, LATE } from "../../core/cli/program.ts";
import { roundRobin } from "../cluster/round_robin.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { START_MS, startMain, withFolder } from "../support/processes.ts";
import { type Isolates, type SharedStore, startIsolates } from "./parts.ts";

const ENV = {
  RELAY_SECRET: "rehearsal secret rehearsal secret rehearsal",
  RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
};
const OWNER = { email: "owner@example.com", password: "correct horse 7", organization: "First" };
const HOOK_SECRET = "a secret of the first day";
const ARRIVE_MS = 10_000;
/** The time between the platform's SIGINT and its SIGKILL. */
const STOP_MS = 5_000;

/** Lives a first day on isolates over one store, with a restart of all of them. Prints the cold starts. */
export async function liveFirstDay(store: SharedStore): Promise<void> {
  let running = await startIsolates(store, ENV);
  const targets = [...running.urls];
  const proxy = roundRobin(targets);
  const receiver = startReceiver(HOOK_SECRET);
  try {
    await withFolder(async (folder) => {
      const owner = await claim(running, proxy.url);
      await using agent = await pair(owner, proxy.url, `${folder}/agent`);
      const hook = { name: "first", url: receiver.url, secret: HOOK_SECRET };
      const events = ["command_executed", "command_denied"];
      expectStatus(
        await owner.client("POST", "/api/v1/webhooks", { ...hook, events }),
        201,
        "making a webhook",
      );
      const first = await commandEverywhere(running.urls, owner.token, agent.id);
      assert.equal((await receiver.delivery("command_executed", ARRIVE_MS)).fault, null);

      await stopAll(running);
      running = await startIsolates(store, ENV);
      targets.splice(0, targets.length, ...running.urls);
      await untilOnline(owner.client, agent.id);

      const kept = await owner.client<{ stdout: string }>(
        "GET",
        `/api/v1/agents/${agent.id}/commands/${first}`,
      );
      assert.equal(expectStatus(kept, 200, "an old command").stdout, "crossed\n");
      await commandEverywhere(running.urls, owner.token, agent.id);
      const denied = `/api/exec/${agent.id}?${new URLSearchParams({ command: "rm -rf /" })}`;
      expectStatus(await owner.client("GET", denied), 403, "a dangerous command");
      assert.equal((await receiver.delivery("command_denied", ARRIVE_MS)).fault, null);
      await assertClaimed(running, owner.claimCode);
      running = await loseBySchedule(store, running, owner, agent);
      running = await deliverBySchedule(store, running, owner, agent.id);
    });
  } finally {
    proxy.close();
    await receiver.stop();
    await killAll(running);
  }
}

interface Owner {
  readonly client: Client;
  readonly token: string;
  readonly claimCode: string;
}

/** Signs the owner up with the claim code, which every isolate logs. */
async function claim({ programs }: Isolates, url: string): Promise<Owner> {
  let claim_code = "";
  for (const { line, lines } of programs) {
    assert.ok(lines.includes("schedule relay housekeeping: * * * * *"));
    claim_code = (await line(/"claim_code":"(claim_\w+)"/, START_MS))[1]!;
  }
  for (const { lines } of programs) {
    for (const told of lines.filter((text) => text.includes("claim_code"))) {
      assert.ok(told.includes(claim_code));
    }
  }
  const anonymous = clientOf(url);
  expectStatus(await anonymous("POST", "/api/v1/signup", OWNER), 403, "a signup without the code");
  const signup = { ...OWNER, claim_code };
  const answer = await anonymous<{ token: string }>("POST", "/api/v1/signup", signup);
  const { token } = expectStatus(answer, 201, "signing up");
  return { client: clientOf(url, token), token, claimCode: claim_code };
}

/** After the first day the code opens nothing, and an isolate that starts does not log it. */
async function assertClaimed({ programs, urls }: Isolates, claim_code: string): Promise<void> {
  for (const { lines } of programs) assert.ok(!lines.join("\n").includes(claim_code));
  const stranger = { ...OWNER, email: "stranger@example.com", claim_code };
  const answer = await clientOf(urls[0]!)("POST", "/api/v1/signup", stranger);
  expectStatus(answer, 403, "a second signup with the code");
}

type Agent = Awaited<ReturnType<typeof pair>>;

/** Pairs a device and starts its agent. */
async function pair({ client }: Owner, url: string, state: string) {
  const asked = await client<{ pairing_code: string }>("POST", "/api/devices/pairing-codes");
  const { pairing_code } = expectStatus(asked, 201, "making a pairing code");
  const common = ["--name", "box", "--state", state];
  const paired = startMain(["agent", "pair", "--url", url, "--code", pairing_code, ...common]);
  assert.equal((await paired.ended).code, 0, paired.lines.join("\n"));
  const program = startMain(["agent", ...common]);
  const [, id] = await program.line(/^connected to .* \((agt_\w+)\)$/, START_MS);
  const kill = () => program.kill();
  return { id: id!, kill, [Symbol.asyncDispose]: kill };
}

/** Waits until an agent has dialled again. An isolate that stops records its agents as offline. */
async function untilOnline(client: Client, id: string): Promise<void> {
  const status = async () =>
    (await client<{ status: string }>("GET", `/api/v1/agents/${id}`)).body.status;
  while (await status() !== "online");
}

/** Runs a command through each isolate, whichever holds the agent's link. Returns the id of the last. */
async function commandEverywhere(urls: readonly string[], token: string, agentId: string) {
  let last = "";
  for (const url of urls) last = await exec(clientOf(url, token), agentId);
  return last;
}

async function exec(client: Client, agentId: string): Promise<string> {
  const path = `/api/exec/${agentId}?${new URLSearchParams({ command: "echo crossed" })}`;
  const answer = await client<{ stdout: string; command_id: string }>("GET", path);
  const { stdout, command_id } = expectStatus(answer, 200, "a command");
  assert.equal(stdout, "crossed\n");
  return command_id;
}

/**
 * A command whose isolate and agent were killed is lost after one run of the schedule. The isolate that starts for it
 * serves no request, and is stopped when the schedule has run.
 */
async function loseBySchedule(
  store: SharedStore,
  killed: Isolates,
  { client, token }: Owner,
  agent: Agent,
): Promise<Isolates> {
  const path = `/api/v1/agents/${agent.id}/commands`;
  const asked = await client<{ command_id: string }>("POST", path, { command: "sleep 600" });
  const command = `${path}/${expectStatus(asked, 202, "a long command").command_id}`;
  const statusAt = async (url: string) =>
    (await clientOf(url, token)<{ status: string }>("GET", command)).body.status;
  while (await statusAt(killed.urls[0]!) !== "running");
  await killAll(killed);
  await agent.kill();
  const scheduled = await startIsolates(store, ENV, 1);
  await runSchedules(scheduled);
  await stopAll(scheduled);
  const isolates = await startIsolates(store, ENV, 1);
  assert.equal(await statusAt(isolates.urls[0]!), "lost");
  return isolates;
}

/**
 * A webhook that its receiver refuses is sent again by the schedule alone: every isolate stops while it refuses, and
 * the one that starts for the schedule has no timer of a second or more.
 */
async function deliverBySchedule(
  store: SharedStore,
  running: Isolates,
  { token }: Owner,
  agentId: string,
): Promise<Isolates> {
  await using receiver = refusingReceiver();
  const client = clientOf(running.urls[0]!, token);
  const retry_policy = { initial_delay_seconds: 1, backoff_multiplier: 1, max_retries: 12 };
  const hook = { name: "refused", url: receiver.url, events: ["agent_deleted"], retry_policy };
  expectStatus(await client("POST", "/api/v1/webhooks", hook), 201, "making a webhook");
  expectStatus(await client("DELETE", `/api/v1/agents/${agentId}`), 204, "deleting the agent");
  await receiver.refused;
  await stopAll(running);
  receiver.accept();
  const isolates = await startIsolates(store, { ...ENV, REHEARSAL_LOST_TIMER_MS: "1000" }, 1);
  while (!receiver.accepted) await runSchedules(isolates);
  return isolates;
}

/** A receiver that answers 503 until it accepts. */
function refusingReceiver() {
  let accepts = false, accepted = false;
  const { promise: refused, resolve } = Promise.withResolvers<void>();
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, () => {
    if (!accepts) resolve();
    else accepted = true;
    return new Response(null, { status: accepts ? 204 : 503 });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}/hook`,
    refused,
    accept: () => accepts = true,
    get accepted() {
      return accepted;
    },
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function runSchedules({ programs: [program] }: Isolates): Promise<void> {
  Deno.kill(program!.pid, "SIGUSR2");
  await program!.line(/^schedules have run$/, START_MS);
}

/** Stops every isolate as the platform does: SIGINT, and 5 s later SIGKILL. */
async function stopAll({ programs }: Isolates): Promise<void> {
  for (const program of programs) {
    Deno.kill(program.pid, "SIGINT");
    const deadline = after(STOP_MS);
    if (await Promise.race([program.ended, deadline.late]) === LATE) await program.kill();
    deadline.cancel();
    assert.equal((await program.ended).code, 0, program.lines.join("\n"));
  }
}

async function killAll({ programs }: Isolates): Promise<void> {
  for (const program of programs) await program.kill();
}
