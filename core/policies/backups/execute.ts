import { Buffer } from "node:buffer";
import { adoptBlob, type BlobRef, readBlob, writeBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { BLOB_BYTES_MAX } from "../../../kv/store/limits.ts";
import {
  type BackupRecord,
  backups,
  type RestoreRecord,
  restores,
} from "../../../kv/records/backup.ts";
import type { Link } from "../../agents/link.ts";
import type { Context } from "../../work/work.ts";
import { decompress, filesDigest, unpackArchive } from "../../protocol/archive.ts";
import { emit } from "../../events/events.ts";
import { decryptOnce, encryptOnce, SealError } from "../../codec/seal.ts";
import { sha256Hex } from "../../codec/text.ts";
import { PIECE_BYTES, type TransferReply } from "../../protocol/transfers.ts";
import { resendPolicies } from "../agents/distribution.ts";
import type { PolicyCache } from "../policy_cache.ts";

/** Each archive is encrypted with its own key. */
const KEY_BYTES = 32;

/** Raised when a job has failed for good; the message is shown to users. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
}

/** Sends something to an agent with `send` and waits for its reply. */
export type Ask = (link: Link, jobId: string, send: () => boolean) => Promise<TransferReply>;

/** The parts of the relay that a backup or a restore uses. */
export interface ExecutionParts extends Pick<Context, "store" | "ports" | "sealer" | "signals"> {
  readonly policyCache: PolicyCache;
}

/** An archive whose bytes are in the store, while no record refers to them yet. */
type Fetched =
  & Pick<BackupRecord, "files_sha256" | "bytes" | "stored_bytes" | "files" | "roots" | "blobs">
  & { readonly sha256: string; readonly sealed_key: string };

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

async function fetchArchive(
  { store, sealer, ports }: ExecutionParts,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  { id, attempt }: Pick<BackupRecord, "id" | "attempt">,
): Promise<Fetched> {
  const ready = await ask(link, id, () => link.transfer(id, "backup", null, 0));
  if (ready.type !== "transfer_ready") throw new JobFailed("the agent answered out of order");
  const stored = new Uint8Array(ready.stored_bytes);
  for (let offset = 0; offset < stored.length;) {
    const want = { type: "transfer_want", job_id: id, offset } as const;
    const piece = await ask(link, id, () => link.send(want));
    const data = piece.type === "transfer_data" && piece.offset === offset
      ? Buffer.from(piece.data, "base64")
      : null;
    // Pieces must be whole: an agent that sends tiny ones would occupy its place for ever.
    if (data?.length !== Math.min(PIECE_BYTES, stored.length - offset)) {
      throw new JobFailed("a piece of the archive has the wrong offset or length");
    }
    stored.set(data, offset);
    offset += data.length;
  }
  link.send({ type: "transfer_end", job_id: id });
  const archive = await decompress(stored).catch(() => new Uint8Array());
  if (archive.length !== ready.bytes || sha256Hex(archive) !== ready.sha256) {
    throw new JobFailed("the archive does not match the digest that the agent gave");
  }
  const { entries, roots } = headOf(archive);
  const key = ports.entropy.bytes(KEY_BYTES);
  const encrypted = encryptOnce(key, stored);
  const blobs: BlobRef[] = [];
  for (let at = 0; at < encrypted.length; at += BLOB_BYTES_MAX) {
    const part = encrypted.subarray(at, at + BLOB_BYTES_MAX);
    blobs.push(await writeBlob(store, tenant, `${id}.${attempt}.${blobs.length}`, part));
  }
  return {
    sha256: ready.sha256,
    files_sha256: filesDigest(entries),
    bytes: archive.length,
    stored_bytes: stored.length,
    files: entries.length,
    roots,
    blobs,
    sealed_key: sealer.seal(Buffer.from(key).toString("base64url"), id),
  };
}

function headOf(archive: Uint8Array) {
  try {
    return unpackArchive(archive).head;
  } catch {
    throw new JobFailed("the archive is not one of a configuration");
  }
}

/** Backs up the agent's present configuration, then has it restore the backup; a rehearsal changes nothing. */
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
    throw new JobFailed("the backup is gone");
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

async function readArchive(
  { store, sealer }: ExecutionParts,
  tenant: Tenant,
  { id, blobs }: BackupRecord,
  sealedKey: string,
): Promise<Uint8Array> {
  const parts = [];
  for (const blob of blobs) {
    const part = await readBlob(store, tenant, blob);
    if (part === null) throw new JobFailed("the backup is gone");
    parts.push(part);
  }
  try {
    const key = Buffer.from(sealer.open(sealedKey, id), "base64url");
    return decryptOnce(key, Buffer.concat(parts));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new JobFailed(`the backup does not open: ${error.message}`);
  }
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
      throw new JobFailed("another instance has taken the restore over");
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
