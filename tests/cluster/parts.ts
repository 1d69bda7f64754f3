import { NO_LIMITS } from "../support/no_limits.ts";
import { type Client, clientOf } from "../../core/cli/client.ts";
import type { Program } from "../../core/cli/program.ts";
import { systemClock } from "../../core/ports/system.ts";
import { type OpenStore, openStore } from "../../kv/maintenance/open.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
} from "../support/processes.ts";

/** The access token of every denokv server here. */
export const TOKEN = "0123456789abcdef0123456789abcdef";
/** The secret of every instance here. */
export const SECRET = "cluster secret cluster secret cluster secret";

/** The denokv program on the path, or of DENOKV; null when there is none. */
export async function findDenokv(): Promise<string | null> {
  const named = Deno.env.get("DENOKV");
  if (named !== undefined) return named;
  for (const folder of (Deno.env.get("PATH") ?? "").split(":")) {
    const path = `${folder}/denokv`;
    if (await Deno.stat(path).then(({ isFile }) => isFile, () => false)) return path;
  }
  return null;
}

/** A running denokv server. */
export interface Denokv {
  readonly url: string;
  /** Stops it from answering, like a lost network, until `resume`. */
  pause(): void;
  resume(): void;
  kill(): Promise<void>;
}

/** Starts a denokv server over a file, on a free port or the given one. */
export async function startDenokv(
  program: string,
  path: string,
  port = freePort(),
): Promise<Denokv> {
  const child = new Deno.Command(program, {
    args: ["--sqlite-path", path, "serve", "--addr", `127.0.0.1:${port}`],
    env: { DENO_KV_ACCESS_TOKEN: TOKEN },
    stdout: "null",
    stderr: "piped",
  }).spawn();
  let ended = false;
  child.status.then(() => ended = true);
  let text = "";
  const reader = child.stderr.pipeThrough(new TextDecoderStream()).getReader();
  while (!text.includes("Listening")) {
    const { done, value } = await reader.read();
    if (done) throw new Error(`denokv ended before it was ready: ${text}`);
    text += value;
  }
  const drained = (async () => {
    while (!(await reader.read()).done);
  })();
  return {
    url: `http://127.0.0.1:${port}`,
    pause: () => child.kill("SIGSTOP"),
    resume: () => child.kill("SIGCONT"),
    async kill() {
      if (!ended) child.kill("SIGKILL");
      await Promise.all([child.status, drained]);
    },
  };
}

/** An instance of a cluster. */
export interface Instance {
  readonly relay: Program;
  readonly url: string;
}

/** Starts an instance over a denokv server, on a free port or the given one. */
export async function startInstance(kv: Denokv, port = "0"): Promise<Instance> {
  const { relay, url } = await startRelayProcess({
    RELAY_KV: kv.url,
    RELAY_PORT: port,
    DENO_KV_ACCESS_TOKEN: TOKEN,
    RELAY_SECRET: SECRET,
    RELAY_CONFIG: JSON.stringify({ ...NO_LIMITS, outbound: { allow_private_targets: true } }),
  });
  return { relay, url };
}

/** Opens the store of a denokv server in this process. Other tests of the process do not see its token. */
export async function openClusterStore({ url }: Denokv): Promise<OpenStore> {
  const before = Deno.env.get("DENO_KV_ACCESS_TOKEN");
  Deno.env.set("DENO_KV_ACCESS_TOKEN", TOKEN);
  try {
    return await openStore(url, systemClock);
  } finally {
    if (before === undefined) Deno.env.delete("DENO_KV_ACCESS_TOKEN");
    else Deno.env.set("DENO_KV_ACCESS_TOKEN", before);
  }
}

/** Passes each TCP connection to the next target that accepts it. The targets may change. */
export function roundRobin(targets: readonly string[]) {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let turn = 0;
  (async () => {
    for await (const client of listener) pass(client).catch(() => {});
  })();
  async function pass(client: Deno.TcpConn): Promise<void> {
    for (let tried = 0; tried < targets.length; tried++) {
      const port = Number(new URL(targets[turn++ % targets.length]!).port);
      const server = await Deno.connect({ hostname: "127.0.0.1", port }).catch(() => null);
      if (server === null) continue;
      client.setNoDelay(true);
      server.setNoDelay(true);
      await Promise.allSettled([
        client.readable.pipeTo(server.writable),
        server.readable.pipeTo(client.writable),
      ]);
      return;
    }
    client.close();
  }
  const { port } = listener.addr as Deno.NetAddr;
  return {
    url: `http://127.0.0.1:${port}`,
    close: () => listener.close(),
    [Symbol.dispose]: () => listener.close(),
  };
}

/** An agent's process and its id. */
export interface ClusterAgent {
  readonly program: Program;
  readonly id: string;
}

/** Starts `relay agent` with a key; its state is kept in `folder`. */
export async function startAgent(
  { url, key, folder, name }: { url: string; key: string; folder: string; name: string },
): Promise<ClusterAgent> {
  const tokenFile = `${folder}/${name}-token`;
  await Deno.writeTextFile(tokenFile, key, { mode: 0o600 });
  const state = ["--state", `${folder}/relay-agent-${name}`, "--token-file", tokenFile];
  const program = startMain(["agent", "--url", url, "--name", name, ...state]);
  const [, id] = await program.line(/^connected to .* \((\w+)\)$/, START_MS);
  return { program, id: id! };
}

/** The first organization of a cluster: a client with an API key for each instance. */
export async function openCluster(instances: readonly Instance[]) {
  const token = await signUpOwner(clientOf(instances[0]!.url));
  const owner = clientOf(instances[0]!.url, token);
  const key = await makeKey(owner, ["agents:admin", "agents:read", "agents:write"]);
  return { key, token, clients: instances.map(({ url }): Client => clientOf(url, key)) };
}

/** A port that nobody listens on now. */
export function freePort(): number {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  return (listener.addr as Deno.NetAddr).port;
}
