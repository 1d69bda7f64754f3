import { dropBlob } from "../../../kv/store/blob.ts";
import type { Collection, Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import {
  agentUpgrades,
  backups,
  deletedAgents,
  type JobRecord,
  restores,
  UPGRADES_KEPT,
} from "../../../kv/records/backup.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Context } from "../../context/context.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";

/** How many jobs of one agent are kept, by status. */
type Kept = Readonly<Record<JobRecord["status"], number>>;

const BACKUPS_KEPT: Kept = { running: Infinity, complete: 20, failed: 20 };
const RESTORES_KEPT: Kept = { running: Infinity, complete: 100, failed: 20 };
const UPGRADES_OF_AGENT: Kept = {
  running: Infinity,
  complete: UPGRADES_KEPT,
  failed: UPGRADES_KEPT,
};
const NONE: Kept = { running: 0, complete: 0, failed: 0 };
const PAGE = 200;

type JobKind = "backup" | "restore";

/** Ends a job as failed. */
export async function failJob<T extends JobRecord>(
  { store, ports, signals }: Pick<Context, "store" | "ports" | "signals">,
  tenant: Tenant,
  { kind, of }: { readonly kind: JobKind; readonly of: Collection<T> },
  ended: JobRecord,
  why: string,
): Promise<void> {
  await store.transact(async (tx) => {
    const job = await tx.get(of, tenant, ended.id);
    if (job?.status !== "running" || job.attempt !== ended.attempt) return;
    const finished_at_ms = ports.clock.now();
    tx.put(of, tenant, { ...job, status: "failed", error: why, finished_at_ms });
    emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: `${kind}_failed`,
      resource: { type: kind, id: job.id },
      agentId: job.agent_id,
      details: { reason: why, user: job.created_by },
    });
  });
  await pruneJobs(store, tenant, ended);
}

/** Drops the oldest backups, restores and upgrades of a job's agent beyond the limits. */
export async function pruneJobs(store: Store, tenant: Tenant, job: JobRecord): Promise<void> {
  await prune(store, tenant, restores, job.agent_id, RESTORES_KEPT);
  await prune(store, tenant, agentUpgrades, job.agent_id, UPGRADES_OF_AGENT);
  // A dry run adds no backup.
  if (job.dry_run) return;
  await prune(store, tenant, backups, job.agent_id, BACKUPS_KEPT);
}

/** Drops every backup, restore and upgrade of an agent that was deleted. */
export async function dropJobs(store: Store, tenant: Tenant, agentId: string): Promise<void> {
  // Restores first: a restore under way adds a backup only while its record exists.
  await prune(store, tenant, restores, agentId, NONE);
  await prune(store, tenant, backups, agentId, NONE);
  await prune(store, tenant, agentUpgrades, agentId, NONE);
  await store.transact((tx) => tx.delete(deletedAgents, tenant, agentId));
}

async function prune<T extends JobRecord>(
  store: Store,
  tenant: Tenant,
  of: Collection<T>,
  agentId: string,
  kept: Kept,
): Promise<void> {
  const seen = { running: 0, complete: 0, failed: 0 };
  const list = { index: "agent", prefix: [agentId], limit: PAGE, reverse: true };
  for await (const { id, status } of everyListed(store, of, tenant, list)) {
    if (++seen[status] > kept[status]) await store.transact((tx) => drop(tx, tenant, of, id));
  }
}

/** Deletes a job with its bytes, unless a running restore needs them. */
async function drop<T extends JobRecord>(
  tx: Tx,
  tenant: Tenant,
  of: Collection<T>,
  id: string,
): Promise<void> {
  const job = await tx.get(of, tenant, id);
  if (job === null) return;
  const restore = await tx.find(restores, tenant, "running", [job.agent_id]);
  if (restore?.backup_id === id) return;
  for (const blob of job.blobs ?? []) dropBlob(tx, tenant, blob);
  tx.delete(of, tenant, id);
}
