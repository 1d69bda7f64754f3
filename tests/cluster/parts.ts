import { NO_LIMITS } from "../support/no_limits.ts";
import { type Client, clientOf } from "../clients/status_client.ts";
import type { Program } from "../../core/cli/program.ts";
import { systemClock } from "../../core/ports/system.ts";
import { type Denokv, SECRET, TOKEN } from "./denokv.ts";
import { type OpenStore, openStore } from "../../kv/maintenance/open.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
} from "../support/processes.ts";

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
