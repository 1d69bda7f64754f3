import { z } from "zod";
import { BlobRef } from "../store/blob.ts";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

export const JOB_STATUSES = ["running", "complete", "failed"] as const;

const Job = {
  id: z.string(),
  agent_id: z.string(),
  status: z.enum(JOB_STATUSES),
  /** Counts the attempts: only the last may end the job. */
  attempt: z.int(),
  /** The instance of the last attempt. */
  instance: z.string(),
  /** Why it failed. */
  error: z.string().nullable(),
  created_by: z.string(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
};

/** A backup of an agent's configuration. */
export const BackupRecord = z.strictObject({
  ...Job,
  reason: z.enum(["requested", "before_restore"]),
  /** SHA-256 of the archive, hex; null until it has arrived. */
  sha256: z.string().nullable(),
  /** Digest of its files alone, to compare with an agent's report. */
  files_sha256: z.string().nullable(),
  bytes: z.int(),
  stored_bytes: z.int(),
  files: z.int(),
  roots: z.array(z.string()),
  /** The compressed archive, encrypted under its own key, in order. */
  blobs: z.array(BlobRef),
  /** That key, sealed; null until the archive has arrived. */
  sealed_key: Sealed.nullable(),
});
export type BackupRecord = z.infer<typeof BackupRecord>;

/** A restore of an agent's configuration, or its dry run. */
export const RestoreRecord = z.strictObject({
  ...Job,
  backup_id: z.string(),
  dry_run: z.boolean(),
  /** The backup that undoes the restore; null until it has arrived. */
  undo_backup_id: z.string().nullable(),
  /** The changes, as the agent reports them. */
  plan: z.unknown().nullable(),
  /** SHA-256 of an archive of the agent's configuration after the restore. */
  sha256: z.string().nullable(),
});
export type RestoreRecord = z.infer<typeof RestoreRecord>;

/** The common fields of backups and restores, and those that distinguish them. */
export type JobRecord =
  & z.infer<z.ZodObject<typeof Job>>
  & Partial<Pick<BackupRecord, "blobs"> & Pick<RestoreRecord, "dry_run">>;
const underWay = ({ status, agent_id }: JobRecord) => status === "running" ? [agent_id] : null;
const open = ({ status, created_at_ms }: JobRecord) =>
  status === "running" ? [created_at_ms] : null;

export const backups = collection({
  name: "backups",
  schema: BackupRecord,
  unique: { running: underWay },
  index: {
    agent: ({ agent_id }) => [agent_id],
    complete: ({ agent_id, status }) => status === "complete" ? [agent_id] : null,
  },
  queue: { open },
});

export const restores = collection({
  name: "restores",
  schema: RestoreRecord,
  unique: { running: underWay },
  index: { agent: ({ agent_id }) => [agent_id] },
  queue: { open },
});

/** A deleted agent whose backups and restores are not deleted yet. */
const DeletedAgentRecord = z.strictObject({ id: z.string(), deleted_at_ms: z.number() });

export const deletedAgents = collection({
  name: "deleted_agents",
  schema: DeletedAgentRecord,
  queue: { oldest: ({ deleted_at_ms }) => [deleted_at_ms] },
});
