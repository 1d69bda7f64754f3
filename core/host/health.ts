import { SYSTEM } from "../../kv/store/collection.ts";
import { installations } from "../../kv/records/installation.ts";
import { deliveries } from "../../kv/records/webhook.ts";
import type { Store } from "../../kv/store/store.ts";
import { assertWritable } from "../../kv/engine/health.ts";
import { indexKeys, queueHeads } from "../../kv/store/iterate.ts";
import { type Clock, within } from "../ports/ports.ts";
import { VERSION } from "../protocol/protocol.ts";
import type { Context, Settings } from "../context/context.ts";
import { lastBackupOf } from "./backup/last_backup.ts";

const DUE_MAX = 1000;
const STORE_DEADLINE_MS = 2_000;

/** The parts of this instance whose figures the health report shows. */
interface Instance {
  readonly startedAtMs: number;
  readonly links: { readonly size: number };
  readonly commands: { readonly size: number };
  readonly settings: Pick<Settings, "kv">;
  readonly epoch: string;
  readonly storeBackups: { readonly error: string | null };
}

/** The number of webhook deliveries that are due now, up to DUE_MAX. */
export async function jobsDue(store: Store, clock: Clock): Promise<number> {
  const end = [clock.now() + 1];
  let due = 0;
  for await (const { key: [webhookId, dueMs] } of queueHeads(store, deliveries, "due")) {
    if ((dueMs as number) >= end[0]!) continue;
    const range = { prefix: [webhookId!], end, limit: DUE_MAX - due };
    for await (const _ of indexKeys(store, deliveries, SYSTEM, "due", range)) due++;
    if (due === DUE_MAX) break;
  }
  return due;
}

/** The state of the parts. `detailed` adds figures, for callers who may see them. */
export async function health(
  { store, ports: { clock } }: Pick<Context, "store" | "ports">,
  { startedAtMs, links, commands, settings, epoch, storeBackups }: Instance,
  detailed: boolean,
) {
  const startedMs = performance.now();
  const storeOk = await storeResponds(store, clock);
  const storeMs = performance.now() - startedMs;
  const status = storeOk ? "ok" as const : "degraded" as const;
  const components = { store: storeOk ? "ok" as const : "down" as const };
  if (!detailed || !storeOk) return { status, components };
  const backedUpAt = lastBackupOf(settings.kv, epoch);
  return {
    status,
    components,
    version: VERSION,
    uptime_seconds: Math.floor((clock.now() - startedAtMs) / 1000),
    store_round_trip_ms: Math.round(storeMs * 1000) / 1000,
    jobs_due: await jobsDue(store, clock),
    agents_linked: links.size,
    commands_under_way: commands.size,
    last_backup_at: backedUpAt,
    last_backup_error: backedUpAt === undefined ? undefined : storeBackups.error,
  };
}

async function storeResponds(store: Store, clock: Clock): Promise<boolean> {
  const works = Promise.all([
    store.kv.get([SYSTEM.org, SYSTEM.space, installations.name, "installation"]),
    // Reads still succeed when the disk is full.
    assertWritable(store),
  ]).then(() => true, () => false);
  return await within(clock, STORE_DEADLINE_MS, works) ?? false;
}
