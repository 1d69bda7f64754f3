import { parseConfig } from "../../core/context/config.ts";
import { makeKeyValue } from "../../core/access/keys/value.ts";
import { readSettings } from "../../core/context/settings.ts";
import { startRelay } from "../../core/start.ts";
import { systemClock, systemEntropy, systemPorts } from "../../core/ports/system.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import { mount } from "../../routes/http/mount.ts";
import { routes, upgrades } from "../../routes/index.ts";

/**
 * Tries keys that do not exist, with right checksums, from so many addresses, against a relay in this
 * process. Arguments: tries a minute from an address, addresses, tries. Prints what the process holds before and after.
 */
const TOGETHER = 100;
const [perMinute = "null", addresses = "1", tries = "1000000"] = Deno.args;
const TRIES = Number(tries);
const folder = await Deno.makeTempDir({ prefix: "relay-bench-" });
const config = parseConfig(`{"limits":{"public_per_minute":${perMinute}}}`);
const settings = { ...readSettings({}, () => "", false), config };
const opened = await openStore(`${folder}/relay.kv`, systemClock);
const ports = systemPorts(() => false);
const running = await startRelay(opened, { ...settings, secret: "no secret at all" }, ports);
const serve = mount(running.app, routes, upgrades);
const statuses: Record<number, number> = {};

async function tryKey(n: number): Promise<void> {
  const at = n % Number(addresses);
  const hostname = `198.${at >> 16 & 255}.${at >> 8 & 255}.${at & 255}`;
  const headers = { "x-api-key": makeKeyValue("live", systemEntropy) };
  const request = new Request("http://localhost/api/v1/agents", { headers });
  const answer = await serve(request, { remoteAddr: { transport: "tcp", hostname, port: 1 } });
  await answer.body?.cancel();
  statuses[answer.status] = (statuses[answer.status] ?? 0) + 1;
}

const heap: number[] = [], resident: number[] = [];
function weigh(): void {
  (globalThis as unknown as { gc(): void }).gc();
  const { heapUsed, rss } = Deno.memoryUsage();
  heap.push(heapUsed);
  resident.push(rss);
}

for (let n = 0; n < TRIES; n += TOGETHER) {
  if (n % (TRIES / 4) === 0) weigh();
  await Promise.all(Array.from({ length: TOGETHER }, (_, m) => tryKey(n + m)));
}
weigh();
console.log(JSON.stringify({ tries: TRIES, heap, resident, statuses }));
await running.stop();
Deno.removeSync(folder, { recursive: true });
