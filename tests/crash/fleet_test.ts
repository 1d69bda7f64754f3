import { deepStrictEqual as deq, strictEqual as eq } from "node:assert/strict";
import { clientOf } from "../clients/status_client.ts";
import { programArguments } from "../../core/cli/program.ts";
import { until } from "../cluster/wait.ts";
import { NO_LIMITS } from "../support/no_limits.ts";
import { makeKey, signUpOwner, startRelayProcess, withFolder } from "../support/processes.ts";
import { random } from "../support/random.ts";
import { faultsOfStore } from "../support/whole_store.ts";
import { FleetAgents } from "./fleet_agents.ts";

const AGENTS = 200;
const SEED = Number(
  Deno.env.get("RELAY_CRASH_SEED") ?? crypto.getRandomValues(new Uint16Array(1))[0],
);
const MAIN = new URL("../../main.ts", import.meta.url).href;
/** Other tests may keep all cores busy. */
const SLOW_MS = 60_000;

interface Fleet {
  readonly id: string;
  readonly status: string;
  readonly counts: Readonly<Record<string, number>>;
}

/** `relay exec` in a process of its own. */
async function relayExec(url: string, token: string, line: readonly string[]) {
  const beganMs = performance.now();
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: programArguments(["exec", ...line], { main: MAIN }),
    env: { RELAY_URL: url, RELAY_TOKEN: token, NO_COLOR: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, out: text(stdout), err: text(stderr), ms: performance.now() - beganMs };
}

Deno.test(`relay exec: ${AGENTS} agents give one line each; kill -9 in the middle repeats none, and totals are right`, async () => {
  console.log(`fleet test: RELAY_CRASH_SEED=${SEED}`);
  const killAt = 20 + random(SEED).below(AGENTS - 60);
  await withFolder(async (folder) => {
    const env: Record<string, string> = {
      RELAY_KV: `${folder}/relay.kv`,
      RELAY_CONFIG: JSON.stringify(NO_LIMITS),
    };
    let { relay, url } = await startRelayProcess(env);
    env.RELAY_PORT = new URL(url).port;
    const token = await signUpOwner(clientOf(url));
    const key = await makeKey(clientOf(url, token), ["agents:admin"]);
    let received = 0;
    const atKill = Promise.withResolvers<void>();
    const agents = new FleetAgents(url, key, AGENTS, ({ command }, answer) => {
      if (command === "uptime") return answer();
      received++;
      if (received === killAt) atKill.resolve();
      // Some are still running at the kill.
      if (received < killAt - 10 || received > killAt) answer();
    });
    try {
      await agents.connect();
      const { code, out, err, ms } = await relayExec(url, token, [
        "-l",
        "env=test",
        "--",
        "uptime",
      ]);
      console.log(
        `fleet test: ${AGENTS} results in ${Math.round(ms)} ms, start of the CLI included`,
      );
      const lines = out.trimEnd().split("\n");
      const names = lines.map((line) => /^(web-\d+): .* load average/.exec(line)?.[1]);
      deq(names.sort(), Array.from({ length: AGENTS }, (_, n) => `web-${n}`).sort());
      deq(err.trimEnd().split("\n"), [
        "web-7: failed, exit code 1",
        `${AGENTS} agents: ${AGENTS - 1} succeeded, 1 failed.`,
      ]);
      eq(code, 1);

      const client = clientOf(url, token);
      const body = { all: true, command: "true", parallel: 20 };
      const { body: begun } = await client<Fleet>("POST", "/api/v1/commands", body);
      await atKill.promise;
      await relay.kill();
      ({ relay, url } = await startRelayProcess(env));
      await agents.connect();
      const read = async () =>
        (await client<Fleet>("GET", `/api/v1/commands/${begun.id}?limit=1`)).body;
      await until(
        "the fleet command ends",
        SLOW_MS,
        async () => (await read()).status !== "running",
      );
      const { counts, status } = await read();
      const { succeeded = 0, failed = 0, lost = 0, ...others } = counts;
      eq(status, "failed");
      eq(succeeded + failed + lost, AGENTS, JSON.stringify(counts));
      deq([...new Set(Object.values(others))], [0]);
      console.log(
        `fleet test: killed after ${killAt}: ${JSON.stringify({ succeeded, failed, lost })}`,
      );
      deq([...agents.runs].filter(([, times]) => times > 1), []);
      agents.close();
      await relay.stop();
      using kv = await Deno.openKv(env.RELAY_KV!);
      deq(await faultsOfStore(kv), []);
    } catch (error) {
      console.error(relay.lines.join("\n"));
      throw error;
    } finally {
      agents.close();
      await relay.stop();
    }
  });
});
