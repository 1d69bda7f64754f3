import type { KeyObject } from "node:crypto";
import { dial } from "../../core/cli/agent/link/dial.ts";
import { challengeText, rawPublicKey, signText } from "../../core/protocol/statements.ts";
import { newIdentity } from "../support/agent.ts";
import { type Client, clientOf } from "../clients/status_client.ts";
import { type FakeHost, openFakeHost } from "../policies/fake_host.ts";
import { forbidding } from "../policies/git_fixtures.ts";
import { findDenokv, startDenokv } from "./denokv.ts";
import { type Instance, openCluster, startAgent, startInstance } from "./parts.ts";

/**
 * Measures requests at an instance that does not hold the agent's link: three relays over one denokv server and a real
 * agent, times in ms. Turn delayed acknowledgements of loopback off first (docs/deploy.md), or commits may stall for
 * 45 ms each.
 */
const ROUNDS = 100;
const denokv = await findDenokv();
if (denokv === null) {
  console.error("denokv was not found: install it, or name it in the environment variable DENOKV");
  Deno.exit(2);
}
const folder = await Deno.makeTempDir({ prefix: "relay-cluster-" });
const cleanup: (() => unknown)[] = [() => Deno.remove(folder, { recursive: true })];
try {
  await measure(denokv);
} finally {
  for (const end of cleanup.reverse()) await end();
}
Deno.exit();

async function measure(denokv: string): Promise<void> {
  const kv = await startDenokv(denokv, `${folder}/store.sqlite`);
  cleanup.push(kv.kill);
  const instances: Instance[] = [];
  for (let n = 0; n < 3; n++) {
    const instance = await startInstance(kv);
    cleanup.push(instance.relay.kill);
    instances.push(instance);
  }
  const { key, token, clients } = await openCluster(instances);
  const [here, there] = clients as [typeof clients[0], typeof clients[0]];
  const url = instances[0]!.url;
  const agent = await startAgent({ url, key, folder, name: "measured" });
  cleanup.push(agent.program.kill);
  const path = `/api/exec/${agent.id}?command=true`;

  const own: number[] = [], other: number[] = [];
  for (let n = 0; n < ROUNDS; n++) {
    own.push(await timed(() => here("GET", path)));
    other.push(await timed(() => there("GET", path)));
  }
  show("exec at the instance of the link", own);
  show("exec at another instance", other);

  const owner = clientOf(instances[1]!.url, token);
  await owner("PATCH", "/api/shield/settings", { approvals: { self_approval: true } });
  const approved: number[] = [];
  for (let n = 0; n < ROUNDS / 2; n++) {
    const asked = await here<{ command_id: string; approval_id: string }>(
      "POST",
      commandsOf(agent.id),
      {
        command: "git push --force /nonexistent main",
      },
    );
    const { command_id, approval_id } = asked.body;
    await owner("POST", `/api/shield/approve/${approval_id}`, {});
    approved.push(await timed(() => until(here, `${commandsOf(agent.id)}/${command_id}`, isSent)));
  }
  show("approval at another instance, answer to running", approved);

  const pushed: number[] = [];
  const git = await serveGit();
  cleanup.push(git.close);
  const branch = { repo_url: git.host.url, branch: "main", policy_path: "." };
  await owner("POST", "/api/v1/gitops/repos", {
    name: "policies",
    provider: "gitlab",
    url: git.host.url,
  });
  for (let n = 0; n < ROUNDS / 5; n++) {
    await git.host.commit({ "a.yaml": forbidding(`program-${n}`) });
    const held = (await here<AgentView>("GET", `/api/v1/agents/${agent.id}`)).body.policy_version;
    await owner("POST", "/api/v1/gitops/apply", branch);
    const isNew = ({ policy_version }: AgentView) => policy_version !== held;
    pushed.push(await timed(() => until(here, `/api/v1/agents/${agent.id}`, isNew)));
  }
  show("policy applied at another instance, answer to held", pushed);

  const events = await eventsOf(instances[2]!.url, key);
  const lags: number[] = [];
  for (let n = 0; n < ROUNDS / 2; n++) {
    const seen = events.next("command_executed");
    await here("GET", path);
    const answeredMs = performance.now();
    lags.push(Math.max(0, await seen - answeredMs));
  }
  show("event at another instance's stream, after the answer", lags);

  const relinked: number[] = [];
  for (let n = 0; n < ROUNDS / 5; n++) relinked.push(await relink(instances, key));
  show("relinked elsewhere, welcome to the old link closed", relinked);

  const keys = await owner<{ api_keys: { id: string }[] }>("GET", "/api/v1/api-keys");
  const closed = agent.program.ended;
  const ended = await timed(async () => {
    await owner("POST", `/api/v1/api-keys/${keys.body.api_keys[0]!.id}/revoke`);
    await Promise.all([closed, events.ended]);
  });
  console.log(
    `a key that is revoked elsewhere: its link and stream are closed after ${ended.toFixed(0)} ms`,
  );
}

/** Links one agent at one instance and then at another; how long the first link outlives the second one's welcome. */
async function relink([first, second]: readonly Instance[], key: string): Promise<number> {
  const identity = newIdentity();
  const old = await link(first!, key, identity);
  const newer = await link(second!, key, identity);
  const outlivedMs = await timed(() => old.ended);
  newer.close();
  await newer.ended;
  return outlivedMs;
}

/** A link of an agent that runs nothing, once it is welcome. */
async function link({ url }: Instance, key: string, identity: KeyObject) {
  const welcome = Promise.withResolvers<void>(), end = Promise.withResolvers<void>();
  const machine = { version: "1", platform: "linux-x86_64", hostname: "roving", labels: {} };
  const socket = dial(url, key, {
    closed({ reason }) {
      welcome.reject(new Error(reason));
      end.resolve();
    },
    message(text) {
      const { type, nonce } = JSON.parse(text!);
      if (type === "welcome") welcome.resolve();
      if (type !== "challenge") return;
      socket.send(JSON.stringify({
        type: "hello",
        agent: { name: "roving", ...machine },
        public_key: rawPublicKey(identity),
        signature: signText(identity, challengeText(nonce)),
        running: [],
        nonce: crypto.randomUUID(),
      }));
    },
  });
  await welcome.promise;
  return { ended: end.promise, close: () => socket.close(1000, "") };
}

interface AgentView {
  readonly policy_version: string;
}

function commandsOf(agentId: string): string {
  return `/api/v1/agents/${agentId}/commands`;
}

function isSent({ status }: { status: string }): boolean {
  return status !== "queued" && status !== "pending_approval";
}

/** Asks again and again until the answer is as wanted. */
async function until<T>(client: Client, path: string, wanted: (body: T) => boolean): Promise<void> {
  while (!wanted((await client<T>("GET", path)).body));
}

/** A Git host on loopback with one repository in memory. */
async function serveGit() {
  let host: FakeHost | null = null;
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen() {} }, async (request) => {
    const headers = Object.fromEntries(request.headers);
    const body = new Uint8Array(await request.arrayBuffer());
    const reply = host!.reply({ method: request.method, url: request.url, headers, body } as never);
    if (typeof reply !== "object" || reply instanceof Error) return new Response(null);
    return new Response(reply.bytes as BodyInit, { status: reply.status, headers: reply.headers! });
  });
  host = await openFakeHost(`http://127.0.0.1:${server.addr.port}/acme/policies.git`);
  return { host, close: () => server.shutdown() };
}

/** The times at which events of a type arrive on a stream. */
async function eventsOf(url: string, key: string) {
  const response = await fetch(`${url}/api/events`, { headers: { "x-api-key": key } });
  const lines = response.body!.pipeThrough(new TextDecoderStream());
  const waiting: { type: string; resolve: (atMs: number) => void }[] = [];
  const ended = (async () => {
    for await (const text of lines) {
      const at = waiting.findIndex(({ type }) => text.includes(type));
      if (at >= 0) waiting.splice(at, 1)[0]!.resolve(performance.now());
    }
  })();
  return {
    ended,
    next: (type: string) => new Promise<number>((resolve) => waiting.push({ type, resolve })),
  };
}

async function timed(work: () => Promise<unknown>): Promise<number> {
  const startedMs = performance.now();
  await work();
  return performance.now() - startedMs;
}

function show(name: string, times: readonly number[]): void {
  const sorted = [...times].sort((a, b) => a - b);
  const at = (share: number) => sorted[Math.floor(sorted.length * share)]!.toFixed(1).padStart(7);
  console.log(`${name.padEnd(54)} p50 ${at(0.5)}  p95 ${at(0.95)} ms`);
}
