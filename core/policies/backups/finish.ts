import { dropBlob } from "../../../kv/store/blob.ts";
import type { Collection, Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { backups, deletedAgents, type JobRecord, restores } from "../../../kv/records/backup.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App } from "../../work/work.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";

/** How many are kept of one agent, by how they ended. */
type Kept = Readonly<Record<JobRecord["status"], number>>;

const BACKUPS_KEPT: Kept = { running: Infinity, complete: 20, failed: 20 };
const RESTORES_KEPT: Kept = { running: Infinity, complete: 100, failed: 20 };
const NONE: Kept = { running: 0, complete: 0, failed: 0 };
const PAGE = 200;

export type JobKind = "backup" | "restore";

/** Ends a job that came to nothing. */
export async function finishJob<T extends JobRecord>(
  app: App,
  tenant: Tenant,
  { kind, of }: { readonly kind: JobKind; readonly of: Collection<T> },
  ended: JobRecord,
  why: string,
): Promise<void> {
  await app.store.transact(async (tx) => {
    const job = await tx.get(of, tenant, ended.id);
    if (job?.status !== "running" || job.attempt !== ended.attempt) return;
    const finished_at_ms = app.ports.clock.now();
    tx.put(of, tenant, { ...job, status: "failed", error: why, finished_at_ms });
    emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: `${kind}_failed`,
      resource: { type: kind, id: job.id },
      agentId: job.agent_id,
      details: { reason: why, user: job.created_by },
    });
  });
  await pruneJobs(app, tenant, ended);
}

/** Drops the oldest backups and restores of a job's agent beyond those that are kept. */
export async function pruneJobs(app: App, tenant: Tenant, job: JobRecord): Promise<void> {
  await prune(app, tenant, restores, job.agent_id, RESTORES_KEPT);
  // What only rehearses a restore costs nobody a backup.
  if (job.dry_run) return;
  await prune(app, tenant, backups, job.agent_id, BACKUPS_KEPT);
}

/** Drops every backup and restore of an agent that was deleted. */
export async function dropJobs(app: App, tenant: Tenant, agentId: string): Promise<void> {
  // A restore that is under way adds a backup only while its record is there.
  await prune(app, tenant, restores, agentId, NONE);
  await prune(app, tenant, backups, agentId, NONE);
  await app.store.transact((tx) => tx.delete(deletedAgents, tenant, agentId));
}

async function prune<T extends JobRecord>(
  { store }: App,
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

/** A backup goes with its bytes, unless a restore is putting it in place. */
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
