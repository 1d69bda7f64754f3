import { z } from "zod";
import { BlobRef } from "../store/blob.ts";
import { collection } from "../store/collection.ts";
import { Sealed } from "./fields.ts";

export const JOB_STATUSES = ["running", "complete", "failed"] as const;

/** The fields of a job that an agent carries out over its link. */
const JOB_FIELDS = {
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
  ...JOB_FIELDS,
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
  ...JOB_FIELDS,
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
  & z.infer<z.ZodObject<typeof JOB_FIELDS>>
  & Partial<Pick<BackupRecord, "blobs"> & Pick<RestoreRecord, "dry_run">>;
const underWay = ({ status, agent_id }: Pick<JobRecord, "status" | "agent_id">) =>
  status === "running" ? [agent_id] : null;
const open = ({ status, created_at_ms }: Pick<JobRecord, "status" | "created_at_ms">) =>
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

/** The upgrade of one agent. */
const AgentUpgradeRecord = z.strictObject({
  ...JOB_FIELDS,
  /** The agent's name when it was asked. */
  name: z.string(),
  /** The upgrade of several agents that it belongs to. */
  upgrade_id: z.string(),
  version: z.string(),
  previous_version: z.string(),
  /** SHA-256 of the program, hex; null until it was sent. */
  sha256: z.string().nullable(),
  /** The number of the link over which the agent took the program; null until then. */
  sent_link: z.int().nullable(),
});
export type AgentUpgradeRecord = z.infer<typeof AgentUpgradeRecord>;

export const agentUpgrades = collection({
  name: "agent_upgrades",
  schema: AgentUpgradeRecord,
  unique: { running: underWay },
  index: {
    agent: ({ agent_id }) => [agent_id],
    upgrade: ({ upgrade_id }) => [upgrade_id],
  },
  queue: { open },
});

/** Upgrades of a space, and of each agent, that are kept. */
export const UPGRADES_KEPT = 20;

export const UPGRADE_STATUSES = ["running", "complete", "stopped"] as const;

/** An upgrade of several agents, in stages. */
export const UpgradeRecord = z.strictObject({
  id: z.string(),
  version: z.string(),
  status: z.enum(UPGRADE_STATUSES),
  /** The agents, in their order. The first `started` of them have a job. */
  agent_ids: z.array(z.string()),
  started: z.int(),
  succeeded: z.int(),
  failed: z.int(),
  /** It stops after this many failures. */
  stop_after: z.int(),
  created_by: z.string(),
  created_at_ms: z.number(),
  finished_at_ms: z.number().nullable(),
});
export type UpgradeRecord = z.infer<typeof UpgradeRecord>;

export const upgrades = collection({
  name: "upgrades",
  schema: UpgradeRecord,
  // One at a time in each space, so that no agent belongs to two.
  unique: { running: ({ status }) => status === "running" ? ["running"] : null },
  queue: {
    open: ({ status, created_at_ms }) => status === "running" ? [created_at_ms] : null,
  },
});
