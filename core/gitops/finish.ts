import { dropBlob } from "../../kv/blob.ts";
import type { Collection, Tenant } from "../../kv/collection.ts";
import { backups, type JobRecord, restores } from "../../kv/records/backup.ts";
import type { App } from "../app.ts";
import { emit, RELAY_ACTOR } from "../events.ts";

/** Backups that are kept of one agent, failed ones included: the oldest ones go. */
const BACKUPS_KEPT = 20;
const RESTORES_KEPT = 100;
const PAGE = 200;

export type JobKind = "backup" | "restore";

/** Ends a job that came to nothing. */
export async function finishJob<T extends JobRecord>(
  app: App,
  tenant: Tenant,
  { kind, of }: { readonly kind: JobKind; readonly of: Collection<T> },
  { id, attempt }: Pick<JobRecord, "id" | "attempt">,
  why: string,
): Promise<void> {
  await app.store.transact(async (tx) => {
    const job = await tx.get(of, tenant, id);
    if (job?.status !== "running" || job.attempt !== attempt) return;
    const finished_at_ms = app.ports.clock.now();
    tx.put(of, tenant, { ...job, status: "failed", error: why, finished_at_ms });
    emit({ app, actor: RELAY_ACTOR }, tx, tenant, {
      type: `${kind}_failed`,
      resource: { type: kind, id },
      agentId: job.agent_id,
      details: { reason: why, user: job.created_by },
    });
  });
}

/** Drops the oldest backups and restores of an agent beyond those that are kept; all with `keep` 0. */
export async function pruneBackups(
  app: App,
  tenant: Tenant,
  agentId: string,
  keep: { readonly backups: number; readonly restores: number } = {
    backups: BACKUPS_KEPT,
    restores: RESTORES_KEPT,
  },
): Promise<void> {
  const { store } = app;
  const list = { index: "agent", prefix: [agentId], limit: PAGE, reverse: true };
  const old = await store.list(backups, tenant, { ...list, offset: keep.backups });
  for (const { id } of old.items) {
    await store.transact(async (tx) => {
      const backup = await tx.get(backups, tenant, id);
      const restore = await tx.find(restores, tenant, "running", [agentId]);
      if (backup === null || (keep.backups > 0 && restore?.backup_id === id)) return;
      for (const blob of backup.blobs) dropBlob(tx, tenant, blob);
      tx.delete(backups, tenant, id);
    });
  }
  const past = await store.list(restores, tenant, { ...list, offset: keep.restores });
  for (const { id } of past.items) {
    await store.transact((tx) => tx.delete(restores, tenant, id));
  }
}
