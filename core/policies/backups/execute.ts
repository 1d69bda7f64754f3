import { Buffer } from "node:buffer";
import { adoptBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import {
  type BackupRecord,
  backups,
  type RestoreRecord,
  restores,
} from "../../../kv/records/backup.ts";
import type { Link } from "../../agents/agents.ts";
import type { Context } from "../../context/context.ts";
import { emit } from "../../events/events.ts";
import { PIECE_BYTES } from "../../protocol/protocol.ts";
import { resendPolicies } from "../agents/distribution.ts";
import type { PolicyCache } from "../policy_cache.ts";
import { type Ask, fetchArchive, JobFailed, readArchive } from "./archives.ts";

/** The parts of the relay that a backup or a restore uses. */
export interface ExecutionParts extends Pick<Context, "store" | "ports" | "sealer" | "signals"> {
  readonly policyCache: PolicyCache;
}

/** Fetches an agent's configuration. One commit completes the record and adopts all of its bytes. */
export async function executeBackup(
  parts: ExecutionParts,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  job: BackupRecord,
): Promise<void> {
  const { store, ports, signals } = parts;
  const fetched = await fetchArchive(parts, ask, tenant, link, job);
  await store.transact(async (tx) => {
    const now = await tx.get(backups, tenant, job.id);
    if (now?.status !== "running" || now.attempt !== job.attempt) return;
    for (const blob of fetched.blobs) await adoptBlob(tx, tenant, blob);
    const finished_at_ms = ports.clock.now();
    tx.put(backups, tenant, { ...now, ...fetched, status: "complete", finished_at_ms });
    emit({ ports, signals, actor: { id: job.created_by } }, tx, tenant, {
      type: "backup_completed",
      resource: { type: "backup", id: job.id },
      agentId: job.agent_id,
      details: { digest: fetched.sha256, bytes: fetched.bytes, files: fetched.files },
    });
  });
}

/** Backs up the agent's present configuration, then has it restore the backup; a dry run changes nothing. */
export async function executeRestore(
  parts: ExecutionParts,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  job: RestoreRecord,
): Promise<void> {
  const { store, ports, signals } = parts;
  const backup = await store.get(backups, tenant, job.backup_id);
  if (backup === null || backup.sha256 === null || backup.sealed_key === null) {
    throw new JobFailed("the backup was deleted");
  }
  const stored = await readArchive(parts, tenant, backup, backup.sealed_key);
  if (!job.dry_run && job.undo_backup_id === null) await backUpFirst(parts, ask, tenant, link, job);
  const kind = job.dry_run ? "rehearse" : "restore";
  let reply = await ask(
    link,
    job.id,
    () => link.transfer(job.id, kind, backup.sha256, stored.length),
  );
  for (let offset = 0; reply.type === "transfer_want"; offset += PIECE_BYTES) {
    if (reply.offset !== offset || offset >= stored.length) {
      throw new JobFailed("the agent asks for a piece out of order");
    }
    const data = Buffer.from(stored.subarray(offset, offset + PIECE_BYTES)).toString("base64");
    const frame = { type: "transfer_data", job_id: job.id, offset, data } as const;
    reply = await ask(link, job.id, () => link.send(frame));
  }
  if (reply.type !== "transfer_done") throw new JobFailed("the agent answered out of order");
  const { plan, sha256 } = reply;
  await store.transact(async (tx) => {
    const now = await tx.get(restores, tenant, job.id);
    if (now?.status !== "running" || now.attempt !== job.attempt) return;
    const finished_at_ms = ports.clock.now();
    tx.put(restores, tenant, { ...now, plan, sha256, status: "complete", finished_at_ms });
    const { create, replace, remove } = plan;
    emit({ ports, signals, actor: { id: job.created_by } }, tx, tenant, {
      type: "restore_completed",
      resource: { type: "restore", id: job.id },
      agentId: job.agent_id,
      details: {
        backup_id: job.backup_id,
        dry_run: job.dry_run,
        undo_backup_id: now.undo_backup_id,
        digest: sha256,
        create,
        replace,
        remove,
      },
    });
  });
  if (!job.dry_run) await resendPolicies(parts, link);
}

/** Backs up what the agent has before a restore; restoring that backup undoes the restore. */
async function backUpFirst(
  parts: ExecutionParts,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  job: RestoreRecord,
): Promise<void> {
  const { store, ports } = parts;
  const id = ports.entropy.id("bkp");
  const fetched = await fetchArchive(parts, ask, tenant, link, { id, attempt: job.attempt });
  const nowMs = ports.clock.now();
  await store.transact(async (tx) => {
    const now = await tx.get(restores, tenant, job.id);
    if (now?.status !== "running" || now.attempt !== job.attempt) {
      throw new JobFailed("another instance took over the restore");
    }
    for (const blob of fetched.blobs) await adoptBlob(tx, tenant, blob);
    const { agent_id, created_by, attempt, instance } = job;
    tx.insert(backups, tenant, {
      ...fetched,
      id,
      agent_id,
      created_by,
      attempt,
      instance,
      status: "complete",
      reason: "before_restore",
      error: null,
      created_at_ms: nowMs,
      finished_at_ms: nowMs,
    });
    tx.put(restores, tenant, { ...now, undo_backup_id: id });
  });
}
