import { runAgent } from "../../core/cli/agent/agent.ts";
import { machineHost } from "../../core/cli/agent/host.ts";
import type { AgentHost } from "../../core/cli/agent/interfaces.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { START_MS, startMain } from "../support/processes.ts";
import { type Ids, seed } from "./seed.ts";

const NO_LIMIT = { requests_per_minute: null };
const CONFIG = {
  ...NO_LIMITS,
  plans: { starter: NO_LIMIT, team: NO_LIMIT, business: NO_LIMIT, enterprise: NO_LIMIT },
};
/** What is made up must not leave this machine: webhooks and repositories may name any host. */
const PERMISSIONS = [
  "--no-prompt",
  "--allow-net=127.0.0.1",
  "--allow-read",
  "--allow-write",
  "--allow-env",
  "--allow-sys",
];
/** What the agent runs in place of the commands that are made up. */
const HARMLESS = "echo done";

/** A relay with real records and an agent that does no harm. */
export interface SeededRelay extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly ids: Ids;
  readonly kept: readonly string[];
  /** Its warnings and errors. */
  readonly complaints: () => readonly string[];
}

/** Starts a relay in a process of its own, and an agent in this one; keeps files in `folder`. */
export async function startSeededRelay(folder: string): Promise<SeededRelay> {
  const env = {
    RELAY_HOST: "127.0.0.1",
    RELAY_PORT: "0",
    RELAY_KV: ":memory:",
    RELAY_CONFIG: JSON.stringify(CONFIG),
  };
  const relay = startMain(["serve"], env, { permissions: PERMISSIONS });
  const stop = new AbortController();
  let agent: Promise<unknown> = Promise.resolve();
  const close = async () => {
    stop.abort();
    await agent;
    await relay.stop();
  };
  try {
    const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
    const { token, agentKey, fill } = await seed(url!);
    const files = `${folder}/files`;
    await Deno.mkdir(files);
    await Deno.writeTextFile(`${files}/app.conf`, "answer = 42\n");
    const linked = Promise.withResolvers<string>();
    const options = { url: url!, token: agentKey, name: "contract", stateDir: `${folder}/agent` };
    agent = runAgent(
      { ...options, backup: [files], signal: stop.signal },
      harmless((message) => {
        const [id] = /agt_\w+/.exec(message) ?? [];
        if (id !== undefined) linked.resolve(id);
      }),
    ).catch(linked.reject);
    const { ids, kept } = await fill(await linked.promise);
    const complaints = () => relay.lines.filter((line) => /"level":"(error|warn)"/.test(line));
    return { url: url!, token, ids, kept, complaints, [Symbol.asyncDispose]: close };
  } catch (error) {
    await close();
    throw error;
  }
}

const harmless = (heard: (message: string) => void): AgentHost => ({
  ...machineHost,
  spawn: () => machineHost.spawn(HARMLESS),
  log: { info: heard, warn: () => {}, error: () => {} },
});
