import { z } from "zod";
import { BlobRef } from "../store/blob.ts";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

export const JOB_STATUSES = ["running", "complete", "failed"] as const;

const Job = {
  id: z.string(),
  agent_id: z.string(),
  status: z.enum(JOB_STATUSES),
  /** Counts the tries: only the last one may end the job. */
  attempt: z.int(),
  /** The instance of the last try. */
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
  /** SHA-256 of the archive, in hex; null until it is here. */
  sha256: z.string().nullable(),
  /** A name for its files alone, to which an agent's report is compared. */
  files_sha256: z.string().nullable(),
  bytes: z.int(),
  stored_bytes: z.int(),
  files: z.int(),
  roots: z.array(z.string()),
  /** The compressed archive, in order, encrypted under a key of its own. */
  blobs: z.array(BlobRef),
  /** That key; null until the archive is here. */
  sealed_key: Sealed.nullable(),
});
export type BackupRecord = z.infer<typeof BackupRecord>;

/** A restore of an agent's configuration, or its rehearsal. */
export const RestoreRecord = z.strictObject({
  ...Job,
  backup_id: z.string(),
  dry_run: z.boolean(),
  /** What the agent had before, so that the restore can be undone; null until that is here. */
  undo_backup_id: z.string().nullable(),
  /** What is changed, as the agent tells. */
  plan: z.unknown().nullable(),
  /** SHA-256 of the archive that the agent's configuration makes afterwards. */
  sha256: z.string().nullable(),
});
export type RestoreRecord = z.infer<typeof RestoreRecord>;

/** What backups and restores have in common, and what tells them apart. */
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

/** An agent that was deleted and whose backups and restores are still to be dropped. */
const DeletedAgentRecord = z.strictObject({ id: z.string(), deleted_at_ms: z.number() });

export const deletedAgents = collection({
  name: "deleted_agents",
  schema: DeletedAgentRecord,
  queue: { oldest: ({ deleted_at_ms }) => [deleted_at_ms] },
});
