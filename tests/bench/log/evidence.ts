import { verifyEvidence } from "../../../docs/verify.ts";
import { V8_FLAGS } from "../../../core/cli/program.ts";
import { readSettings } from "../../../core/context/settings.ts";
import { eventJson, type EventType, OWN_EVENTS } from "../../../core/events/emit.ts";
import { systemClock, systemPorts } from "../../../core/ports/system.ts";
import { privateKeyOf, rawPublicKey, signText } from "../../../core/protocol/statements.ts";
import { startRelay } from "../../../core/start.ts";
import { agents } from "../../../kv/records/agent.ts";
import { openStore } from "../../../kv/maintenance/open.ts";
import { makeChunks } from "../../build/make_bundle.ts";
import { clientOf } from "../../clients/status_client.ts";
import { PYTHON } from "../../events/verify_py.ts";
import {
  makeKey,
  signUpOwner,
  START_MS,
  startMain,
  startRelayProcess,
} from "../../support/processes.ts";
import { figure } from "../figures.ts";
import { sized } from "../size.ts";
import { fillLog } from "./fill.ts";

const ROWS = sized(100_000, 3_000);
/** After its start a relay does work that is not the archive's. */
const REST_MS = 3_000;
const TYPES: readonly EventType[] = [
  "api_key_used",
  "command_executed",
  "user_login",
  "audit_read",
];

/**
 * An archive of evidence about 100,000 rows: how long it takes, how much memory in a relay that runs from the parts of
 * the executable, and how long both verifiers take.
 */
export async function benchEvidence(): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "relay-bench-evidence-" });
  const env = {
    RELAY_KV: `${folder}/relay.kv`,
    RELAY_SECRET: "a secret of the bench, long enough",
  };
  const first = await startRelayProcess(env);
  const owner = clientOf(first.url, await signUpOwner(clientOf(first.url)));
  const key = await makeKey(owner, ["system:read"]);
  const { body: { public_key } } = await owner<{ public_key: string }>(
    "GET",
    "/api/audit/checkpoint",
  );
  await first.relay.stop();
  await fill(env, public_key.split("/")[1]!);
  const client = { headers: { authorization: `Bearer ${key}` } };
  await makeChunks(`${folder}/chunks`);
  const main = `file://${folder}/chunks/main.js`;
  // This relay makes the rows leaves of the tree and warms the runtime's cache, so that the measured one does nothing
  // but the archive.
  const second = await startRelayProcess(env, ["serve"], main);
  await (await fetch(`${second.url}/api/audit/checkpoint`, client)).body!.cancel();
  await second.relay.stop();
  const relay = startMain(["serve"], { RELAY_HOST: "127.0.0.1", RELAY_PORT: "0", ...env }, {
    main,
    permissions: ["-A", V8_FLAGS],
  });
  const [, url] = await relay.line(/ is ready at (\S+)$/, START_MS);
  await new Promise((done) => setTimeout(done, REST_MS));
  const memory = (field: string) => {
    const status = Deno.readTextFileSync(`/proc/${relay.pid}/status`);
    return Math.round(Number(new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)![1]) / 1024);
  };
  figure("a relay at rest, resident", memory("VmRSS"), "MiB");
  const from = performance.now();
  const answer = await fetch(`${url}/api/v1/compliance/evidence?period=24h`, client);
  const file = `${folder}/evidence.tar`;
  await Deno.writeFile(file, answer.body!);
  const seconds = (performance.now() - from) / 1000;
  const { size } = await Deno.stat(file);
  figure(`archive of ${ROWS} rows`, seconds, "s");
  figure("the same, resident at most", memory("VmHWM"), "MiB");
  console.log(
    `evidence of ${ROWS} rows: ${(size / 2 ** 20).toFixed(0)} MiB in ${seconds.toFixed(1)} s, ` +
      `${memory("VmHWM")} MiB resident at most`,
  );
  await relay.stop();
  const verifying = performance.now();
  console.log(verifyEvidence(file, public_key));
  console.log(`verify.ts: ${((performance.now() - verifying) / 1000).toFixed(1)} s`);
  if (PYTHON) {
    const python = performance.now();
    const args = ["docs/verify.py", file, public_key];
    const { success } = await new Deno.Command("python3", { args, stdout: "inherit" }).output();
    if (!success) throw new Error("docs/verify.py refuses the archive");
    console.log(`verify.py: ${((performance.now() - python) / 1000).toFixed(1)} s`);
  }
  await Deno.remove(folder, { recursive: true });
}

/** Fills the log with rows of some types, a quarter of them commands with receipts of an agent. */
async function fill(env: Readonly<Record<string, string>>, org: string): Promise<void> {
  const settings = readSettings(env, () => "", false);
  const opened = await openStore(settings.kv, systemClock);
  const running = await startRelay(
    opened,
    { ...settings, secret: env.RELAY_SECRET! },
    systemPorts(() => true),
  );
  const { app } = running;
  const tenant = { org, space: "live" } as const;
  const identity = privateKeyOf(crypto.getRandomValues(new Uint8Array(32)));
  const agent = { id: "agt_bench", name: "bench" };
  await app.store.transact((tx) =>
    tx.insert(agents, tenant, {
      ...agent,
      ...{ display_name: null, status: "offline", reported_status: null, reported_at_ms: null },
      ...{ version: "0", platform: "linux", hostname: "bench", program: null, labels: {} },
      ...{ reported_labels: {}, relay_labels: {}, policy_version: null, verdict_key: null },
      ...{ witnessed: null, public_key: rawPublicKey(identity), credential_id: "key_bench" },
      ...{ instance: null, link: 1, connected_at_ms: 0, last_seen_ms: 0, lost_at_ms: null },
      created_at_ms: 0,
    })
  );
  const rowOf = (at: number) => {
    const type = TYPES[at % TYPES.length]!;
    const { example } = OWN_EVENTS[type]!;
    const id = `cmd_${at}`;
    const line = `${id} nonce.${at} 0 - exited false ${EMPTY} ${EMPTY}\n`;
    const signature = () => signText(identity, `relay.receipt.v1\n${agent.id}\n${line}`);
    const details = type !== "command_executed" ? example : {
      ...example,
      ...{ command_id: id, exit_code: 0, signal: null, truncated: false },
      receipt: { signature: signature(), verdict: `nonce.${at}` },
    };
    const resource = { type: type === "command_executed" ? "command" : "user", id } as const;
    const work = { ports: app.ports, actor: { id: `usr_${at % 100}` } };
    return { type, json: eventJson(work, tenant, { type, resource, agentId: agent.id, details }) };
  };
  await fillLog(app.store, tenant, ROWS, rowOf);
  await running.stop();
}

const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
