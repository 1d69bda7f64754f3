import { SYSTEM } from "../../kv/store/collection.ts";
import { installations } from "../../kv/records/installation.ts";
import { deliveries } from "../../kv/records/webhook.ts";
import { assertWritable } from "../../kv/store/health.ts";
import { indexKeys, queueHeads } from "../../kv/store/iterate.ts";
import type { App } from "../work/work.ts";
import { VERSION } from "../work/work.ts";
import { within } from "../ports/within.ts";

const DUE_MAX = 1000;
const STORE_DEADLINE_MS = 2_000;

/** Jobs that are due now, up to DUE_MAX. */
export async function jobsDue({ store, ports }: App): Promise<number> {
  const end = [ports.clock.now() + 1];
  let due = 0;
  for await (const { key: [webhookId, dueMs] } of queueHeads(store, deliveries, "due")) {
    if ((dueMs as number) >= end[0]!) continue;
    const range = { prefix: [webhookId!], end, limit: DUE_MAX - due };
    for await (const _ of indexKeys(store, deliveries, SYSTEM, "due", range)) due++;
    if (due === DUE_MAX) break;
  }
  return due;
}

/** How the parts are; `detailed` adds figures, for those who may see them. */
export async function health(app: App, detailed: boolean) {
  const startedMs = performance.now();
  const storeOk = await answers(app);
  const storeMs = performance.now() - startedMs;
  const status = storeOk ? "ok" as const : "degraded" as const;
  const components = { store: storeOk ? "ok" as const : "down" as const };
  if (!detailed || !storeOk) return { status, components };
  return {
    status,
    components,
    version: VERSION,
    uptime_seconds: Math.floor((app.ports.clock.now() - app.startedAtMs) / 1000),
    store_round_trip_ms: Math.round(storeMs * 1000) / 1000,
    jobs_due: await jobsDue(app),
    agents_linked: app.links.size,
    commands_under_way: app.commands.size,
  };
}

async function answers({ store, ports }: App): Promise<boolean> {
  const works = Promise.all([
    store.kv.get([SYSTEM.org, SYSTEM.space, installations.name, "installation"]),
    // A full disk lets what is there be read.
    assertWritable(store),
  ]).then(() => true, () => false);
  return await within(ports.clock, STORE_DEADLINE_MS, works) ?? false;
}
