import { z } from "zod";
import { GIT_PROVIDERS } from "../../../kv/records/gitops.ts";
import { count, id } from "./fields.ts";
import { event } from "./event.ts";

const agentName = z.string().describe("The agent's name.");
const policyName = z.string().describe("The policy's name.");
const repositoryName = z.string().describe("The repository's name.");
const url = z.string().describe("The repository's address.");
const digest = z.hex().describe("The SHA-256 of the archive.");
const failed = z.strictObject({
  reason: z.string().describe("Why it failed."),
  user: z.string().describe("Who requested it."),
});
const failedExample = { reason: "the agent went away", user: "usr_0m3x1" };
const sha256Example = "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea";

const drifted = z.strictObject({
  name: agentName,
  item: z.string().describe("A policy, or a path of its configuration."),
  status: z.enum(["in_sync", "changed", "missing", "unexpected"]),
});

/** Policies from Git, their state on agents, and backups of agents' configuration. */
export const gitopsEvents = {
  repository_created: event({
    meaning: "a Git repository was registered",
    details: z.strictObject({
      name: repositoryName,
      provider: z.enum(GIT_PROVIDERS),
      url,
      branch: z.string(),
      policy_path: z.string().describe("A file or folder in it; empty for all of it."),
      sync_seconds: z.int().nullable().describe("The sync interval in seconds; null for no sync."),
    }),
    example: {
      name: "policies",
      provider: "gitea",
      url: "https://git.example.com/policies.git",
      branch: "main",
      policy_path: "",
      sync_seconds: 300,
    },
  }),
  repository_deleted: event({
    meaning: "a Git repository was removed",
    details: z.strictObject({ name: repositoryName, url }),
    example: { name: "policies", url: "https://git.example.com/policies.git" },
  }),
  repository_sync_failed: event({
    meaning: "a scheduled sync of a repository failed, and the policies stay unchanged",
    result: "failure",
    details: z.strictObject({
      name: repositoryName,
      repository: url,
      reason: z.string().describe("Why it failed."),
    }),
    example: {
      name: "policies",
      repository: "https://git.example.com/policies.git",
      reason: "The repository could not be reached.",
    },
  }),
  policy_confirmed: event({
    meaning: "an agent confirmed its present policies",
    details: z.strictObject({
      name: agentName,
      policy_version: z.string().nullable().describe("Its version now; null for none."),
      previous_version: z.string().nullable().describe("Its version before; null for none."),
    }),
    example: {
      name: "web-1",
      policy_version: "9f86d081884c7d65",
      previous_version: "60303ae22b998861",
    },
  }),
  policy_rolled_back: event({
    meaning: "a policy was rolled back to an earlier version and pinned to it",
    details: z.strictObject({
      name: policyName,
      version: z.string().describe("The version in force afterwards."),
      latest_version: z.string().describe("The newest version."),
    }),
    example: { name: "production", version: "6", latest_version: "7" },
  }),
  policy_unpinned: event({
    meaning: "a policy follows its repository again",
    details: z.strictObject({
      name: policyName,
      version: z.string().optional().describe("The version in force, when a person unpinned it."),
      reason: z.string().optional().describe("Present when an apply unpinned it."),
      on_behalf_of: id("person with whose right Relay itself made the change").optional(),
    }),
    example: { name: "production", version: "7" },
  }),
  drift_detected: event({
    meaning: "an agent's state differs from what was applied to it",
    details: drifted,
    example: { name: "web-1", item: "policy production", status: "changed" },
  }),
  drift_resolved: event({
    meaning: "an agent's state matches again what was applied to it",
    details: drifted,
    example: { name: "web-1", item: "policy production", status: "in_sync" },
  }),
  backup_started: event({
    meaning: "a backup of an agent's configuration was requested",
    details: z.strictObject({}),
    example: {},
  }),
  backup_completed: event({
    meaning: "an agent's configuration was backed up",
    details: z.strictObject({
      digest,
      bytes: count("The size of the archive"),
      files: count("The number of files in it"),
    }),
    example: { digest: sha256Example, bytes: 8192, files: 3 },
  }),
  backup_failed: event({
    meaning: "a backup of an agent's configuration failed",
    result: "failure",
    details: failed,
    example: failedExample,
  }),
  restore_started: event({
    meaning: "a restore of an agent's configuration, or a dry run of it, was requested",
    details: z.strictObject({
      backup_id: id("backup"),
      dry_run: z.boolean().describe("True for a dry run."),
    }),
    example: { backup_id: "bak_0m3xg", dry_run: false },
  }),
  restore_completed: event({
    meaning: "an agent's configuration was restored, or a dry run of it ended",
    details: z.strictObject({
      backup_id: id("backup"),
      dry_run: z.boolean().describe("True for a dry run."),
      undo_backup_id: z.string().nullable().describe("A backup of the state before the restore."),
      digest,
      create: count("The number of files it creates"),
      replace: count("The number of files it replaces"),
      remove: count("The number of files it removes"),
    }),
    example: {
      backup_id: "bak_0m3xg",
      dry_run: false,
      undo_backup_id: "bak_0m3xh",
      digest: sha256Example,
      create: 1,
      replace: 2,
      remove: 0,
    },
  }),
  restore_failed: event({
    meaning: "a restore of an agent's configuration failed",
    result: "failure",
    details: failed,
    example: failedExample,
  }),
} as const;
