import type { Collection, Tenant } from "../../../kv/store/collection.ts";
import {
  type BackupRecord,
  backups,
  type JobRecord,
  type RestoreRecord,
  restores,
} from "../../../kv/records/backup.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { AgentRecord } from "../../../kv/records/agent.ts";
import { type Links, offline, ownedAgent } from "../../agents/agents.ts";
import { sendMessage, type Work, type Writing } from "../../work/work.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { listPage, type Paging } from "../../../kv/store/paging.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import type { RestorePlan } from "../../protocol/protocol.ts";

/** The parts of the relay that start a backup or a restore. */
interface JobParts {
  readonly links: Pick<Links, "holder" | "of">;
  readonly transfers: { begin(tenant: Tenant, agentId: string): void };
  readonly instance: string;
}

/** Starts a backup through the agent's link. @throws {Fault} AGENT_NOT_FOUND, AGENT_OFFLINE, CONFLICT */
export async function startBackup(work: Writing, parts: JobParts, agentId: string) {
  const { actor, tx } = work;
  const { tenant } = actor;
  const agent = await freeAgent(work, parts.links, agentId);
  const record = tx.insert(backups, tenant, {
    ...newJob(work, parts, "bkp", agentId),
    reason: "requested",
    sha256: null,
    files_sha256: null,
    bytes: 0,
    stored_bytes: 0,
    files: 0,
    roots: [],
    blobs: [],
    sealed_key: null,
  });
  emit(work, tx, tenant, {
    type: "backup_started",
    resource: { type: "backup", id: record.id },
    agentId,
    details: {},
  });
  begin(work, parts, agent);
  return showBackup(record);
}

/**
 * Starts the restore of a backup through the agent's link, or a dry run of it.
 * @throws {Fault} AGENT_NOT_FOUND, NOT_FOUND, AGENT_OFFLINE, CONFLICT
 */
export async function startRestore(
  work: Writing,
  parts: JobParts,
  agentId: string,
  { backup_id, dry_run }: { readonly backup_id: string; readonly dry_run: boolean },
) {
  const { actor, tx } = work;
  const { tenant } = actor;
  await ownedAgent(work, agentId);
  const backup = await ownedBackup(tx, tenant, agentId, backup_id);
  const agent = await freeAgent(work, parts.links, agentId);
  if (backup.status !== "complete") {
    throw new Fault(
      "CONFLICT",
      `This backup is ${backup.status}. Only a complete backup can be restored.`,
    );
  }
  const record = tx.insert(restores, tenant, {
    ...newJob(work, parts, "rst", agentId),
    backup_id,
    dry_run,
    undo_backup_id: null,
    plan: null,
    sha256: null,
  });
  emit(work, tx, tenant, {
    type: "restore_started",
    resource: { type: "restore", id: record.id },
    agentId,
    details: { backup_id, dry_run },
  });
  begin(work, parts, agent);
  return showRestore(record);
}

function newJob(
  { ports, actor }: Writing,
  { instance }: JobParts,
  prefix: string,
  agent_id: string,
) {
  return {
    id: ports.entropy.id(prefix),
    agent_id,
    status: "running" as const,
    attempt: 0,
    instance,
    error: null,
    created_by: actor.id,
    created_at_ms: ports.clock.now(),
    finished_at_ms: null,
  };
}

/** The caller's agent. @throws {Fault} AGENT_OFFLINE, and CONFLICT while another job of the agent is under way */
async function freeAgent(work: Writing, links: JobParts["links"], agentId: string) {
  const { actor: { tenant }, tx } = work;
  const agent = await ownedAgent(work, agentId);
  const job = await tx.find(backups, tenant, "running", [agentId]) ??
    await tx.find(restores, tenant, "running", [agentId]);
  if (job !== null) {
    const message =
      "Another backup or restore of this agent is in progress. Wait until it has finished.";
    throw new Fault("CONFLICT", message, { id: job.id });
  }
  const isLinked = links.holder(agent) !== null || links.of(tenant, agentId) !== undefined;
  if (!isLinked) throw offline(agent);
  return agent;
}

/** Starts a job at the instance that holds its agent's link. */
function begin(
  { actor: { tenant }, ports, tx }: Writing,
  { links, transfers }: JobParts,
  agent: AgentRecord,
): void {
  const holder = links.holder(agent);
  if (holder === null) tx.afterCommit(() => transfers.begin(tenant, agent.id));
  else sendMessage(ports, tx, holder, { kind: "transfer", tenant, agent_id: agent.id });
}

/** The caller's backup of that agent. @throws {Fault} NOT_FOUND */
async function ownedBackup(
  db: Reader,
  tenant: Tenant,
  agentId: string,
  id: string,
): Promise<BackupRecord> {
  const backup = await db.get(backups, tenant, id);
  if (backup?.agent_id === agentId) return backup;
  throw new Fault("NOT_FOUND", "The agent has no such backup.");
}

/** Backups of an agent, newest first. @throws {Fault} AGENT_NOT_FOUND */
export async function listBackups(work: Work, agentId: string, paging: Paging) {
  const { items, pagination } = await listJobs(work, backups, agentId, paging);
  return { backups: items.map(showBackup), pagination };
}

/** Restores of an agent, newest first. @throws {Fault} AGENT_NOT_FOUND */
export async function listRestores(work: Work, agentId: string, paging: Paging) {
  const { items, pagination } = await listJobs(work, restores, agentId, paging);
  return { restores: items.map(showRestore), pagination };
}

async function listJobs<T extends JobRecord>(
  work: Work,
  of: Collection<T>,
  agentId: string,
  paging: Paging,
) {
  const { db, actor: { tenant } } = work;
  await ownedAgent(work, agentId);
  const options = { ...paging, index: "agent", prefix: [agentId], reverse: true };
  return await listPage(db, of, tenant, options);
}

const showJob = (job: BackupRecord | RestoreRecord) => ({
  id: job.id,
  agent_id: job.agent_id,
  status: job.status,
  error: job.error,
  attempts: job.attempt,
  created_by: job.created_by,
  created_at: iso(job.created_at_ms),
  finished_at: isoOrNull(job.finished_at_ms),
});

/** A backup as every answer shows it. */
function showBackup(backup: BackupRecord) {
  const { reason, sha256, bytes, stored_bytes, files, roots } = backup;
  return { ...showJob(backup), reason, digest: sha256, bytes, stored_bytes, files, roots };
}

/** A restore as every answer shows it. */
function showRestore(restore: RestoreRecord) {
  const { backup_id, dry_run, undo_backup_id, plan, sha256 } = restore;
  return {
    ...showJob(restore),
    backup_id,
    dry_run,
    undo_backup_id,
    plan: plan as RestorePlan | null,
    digest: sha256,
  };
}
