import { cpuUsage, memoryUsage } from "node:process";
import { emit } from "../../core/events/events.ts";
import { startRelay } from "../../core/start.ts";
import { readSettings } from "../../core/context/settings.ts";
import { secretsOf } from "../../core/host/secrets/file.ts";
import { safeOutbound } from "../../core/ports/outbound/safe_outbound.ts";
import { systemClock, systemPorts } from "../../core/ports/system.ts";
import { readLedger } from "../../core/delivery/webhooks/ledger.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { organizations } from "../../kv/records/organization.ts";
import { SYSTEM } from "../../kv/store/collection.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";
import { wallMs } from "./wall.ts";

/**
 * A relay on a new store, told by lines of JSON how many events to commit. Arguments: how many webhooks go
 * to the first address, and how many to the second.
 */
const [url, count, holeUrl, holes] = Deno.args as [string, string, string, string];
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
Deno.addSignalListener("SIGTERM", end);
const config = {
  plans: { starter: { requests_per_minute: null } },
  limits: { public_per_minute: null },
  outbound: { allow_private_targets: true },
};
const env = { RELAY_KV: `${folder}/relay.kv`, RELAY_CONFIG: JSON.stringify(config) };
const settings = readSettings(env, (path) => Deno.readTextFileSync(path), false);
const opened = await openStore(settings.kv, systemClock);
const authority = new URL("../fixtures/tls/authority.pem", import.meta.url);
const ports = {
  ...systemPorts(() => true),
  outbound: safeOutbound({
    allowPrivateTargets: () => true,
    clock: systemClock,
    trustedRoots: [Deno.readTextFileSync(authority)],
  }),
};
const secrets = secretsOf(settings, ports.entropy, false);
const { app } = await startRelay(opened, { ...settings, ...secrets }, ports);
const server = Deno.serve(
  { hostname: "127.0.0.1", port: 0, onListen: () => {} },
  mount(app, routes, upgrades),
);
const base = `http://127.0.0.1:${server.addr.port}`;

async function post<Body>(path: string, body: unknown, token?: string): Promise<Body> {
  const response = await fetch(base + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: {
      "content-type": "application/json",
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    },
  });
  if (!response.ok) throw new Error(`${path} answered ${response.status} ${await response.text()}`);
  return await response.json();
}

const account = { email: "bench@example.com", password: "benchmark", organization: "B" };
const { token } = await post<{ token: string }>("/api/v1/signup", account);
for (let n = 0; n < Number(count) + Number(holes); n++) {
  await post("/api/v1/webhooks", {
    name: `hook ${n}`,
    url: n < Number(count) ? url : holeUrl,
    secret: "sixteen characters",
    events: ["agent_health_changed"],
  }, token);
}
await app.log.flush();
await app.deliveries.idle();
const { items } = await app.store.list(organizations, SYSTEM, { limit: 1 });
const tenant = { org: items[0]!.id, space: "live" as const };

/** One event; its name is the time before its commit. */
const commit = () =>
  app.store.transact((tx) => {
    emit({ ...app, actor: { id: "bench" } }, tx, tenant, {
      type: "agent_health_changed",
      resource: { type: "agent", id: "agt_1" },
      agentId: "agt_1",
      details: { name: `${wallMs()}`, from: "online", to: "degraded" },
    });
    return Promise.resolve();
  });

/** When an answer comes: once the events have their numbers, their deliveries are on record, or have come. */
type Wait = "numbered" | "made" | "delivered";
let madeInAll = 0;
console.log(JSON.stringify({ port: server.addr.port }));
for await (const line of linesOf(Deno.stdin.readable)) {
  const { events, wait } = JSON.parse(line) as { events: number; wait: Wait };
  const startedMs = performance.now();
  const usedBefore = cpuUsage();
  for (let left = events; left > 0; left -= 50) {
    await Promise.all(Array.from({ length: Math.min(50, left) }, commit));
  }
  await app.log.flush();
  madeInAll += events * (Number(count) + Number(holes));
  if (wait === "delivered") await app.deliveries.idle();
  while (wait === "made" && (await readLedger(app.store)).accepted < madeInAll) {
    await systemClock.sleep(20);
  }
  const tookMs = performance.now() - startedMs;
  const used = cpuUsage(usedBefore);
  // What is waiting is told from what is only not collected yet.
  if (wait === "made") (globalThis as { gc?: () => void }).gc?.();
  const heapBytes = memoryUsage().heapUsed;
  console.log(JSON.stringify({ tookMs, cpuMs: (used.user + used.system) / 1000, heapBytes }));
}
end();

function end(): never {
  Deno.removeSync(folder, { recursive: true });
  Deno.exit(0);
}

async function* linesOf(stream: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let text = "";
  for await (const chunk of stream.pipeThrough(new TextDecoderStream())) {
    const parts = (text + chunk).split("\n");
    text = parts.pop()!;
    yield* parts;
  }
}
