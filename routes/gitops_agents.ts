import { z } from "zod";
import { JOB_STATUSES } from "../kv/records/backup.ts";
import {
  getDrift,
  getGuard,
  listBackups,
  listRestores,
  startBackup,
  startRestore,
} from "../core/policies/policies.ts";
import { restorePlan } from "../core/protocol/protocol.ts";
import { route } from "./call/route.ts";
import { AgentStatus } from "./agents.ts";
import { AgentRef, Id, listOf, PageQuery, ShieldMode, Timestamp } from "./schemas/schemas.ts";

const AgentParams = z.strictObject({ agent_id: AgentRef });

const Action = z.object({
  event_id: z.string().nullable(),
  event_type: z.string(),
  actor: z.string(),
  at: Timestamp,
});

const Drift = z.object({
  agent_id: z.string(),
  drifted: z.boolean(),
  reached: z.boolean().describe("True when the agent was just asked; false for its last report."),
  reported_at: Timestamp.nullable(),
  problem: z.string().nullable().describe("What the agent could not read."),
  items: z.array(z.object({
    item: z.string().describe("`policy:` and a name, or `files`."),
    kind: z.enum(["policy", "files"]),
    applied: z.object({ version: z.string(), digest: z.string() }).nullable()
      .describe("For files: the last requested backup."),
    reported: z.object({ digest: z.string() }).nullable(),
    status: z.enum(["in_sync", "changed", "missing", "unexpected", "pending", "unknown"])
      .describe("`pending`: applied, but not yet confirmed."),
    since: Timestamp.nullable(),
    by: Action.nullable().describe("The audited action that caused it, if known."),
  })),
}).meta({ id: "Drift" });

/** The outcome of a check of the shield. */
export const CanaryStatus = z.enum(["passed", "failed"]).meta({ id: "CanaryStatus" });

const Guard = z.object({
  agent_id: z.string(),
  status: AgentStatus,
  mode: ShieldMode,
  policy: z.object({
    version: z.string().describe("The version that verdicts and approvals are bound to."),
    applied: z.string().nullable().describe("The policies that apply to the agent."),
    confirmed: z.string().nullable().describe("The policies that the agent has confirmed."),
    reported: z.string().nullable().describe("The policies in the agent's file."),
    in_sync: z.boolean(),
  }),
  last_canary: z.object({
    at: Timestamp,
    by: z.string(),
    status: CanaryStatus,
    failed: z.array(z.string()),
    through_agent: z.boolean(),
  }).nullable(),
  verdict_check: z.object({
    state: z.enum(["verifying", "refusing", "unknown"])
      .describe(
        "`refusing`: since it started, the agent has refused a command with an invalid signature.",
      ),
    verified: z.int().nullable(),
    refused: z.int().nullable(),
    last_refusal: z.string().nullable(),
    verdict_key: z.string().nullable(),
    reported_at: Timestamp.nullable(),
  }),
}).meta({ id: "Guard" });

const job = {
  id: z.string(),
  agent_id: z.string(),
  status: z.enum(JOB_STATUSES).meta({ id: "JobStatus" }),
  error: z.string().nullable(),
  attempts: z.int().describe("More than one when the link was lost."),
  created_by: z.string(),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
};

const Backup = z.object({
  ...job,
  reason: z.enum(["requested", "before_restore"]),
  digest: z.string().nullable().describe("The SHA-256 of the archive before compression."),
  bytes: z.int(),
  stored_bytes: z.int(),
  files: z.int(),
  roots: z.array(z.string()).describe("The paths that the agent's operator listed."),
}).meta({ id: "Backup" });

const Restore = z.object({
  ...job,
  backup_id: z.string(),
  dry_run: z.boolean(),
  undo_backup_id: z.string().nullable()
    .describe("The backup of the state before; restore it to undo this restore."),
  plan: restorePlan.nullable(),
  digest: z.string().nullable().describe("The SHA-256 of the agent's configuration afterwards."),
}).meta({ id: "Restore" });

const BY_RULE = {
  backup: "backup_started, backup_completed, backup_failed",
  restore: "restore_started, restore_completed, restore_failed",
};

export const gitopsAgentRoutes = [
  route({
    id: "gitops.drift",
    method: "GET",
    path: "/api/v1/gitops/drift/{agent_id}",
    summary: "Get the drift of an agent's configuration",
    description:
      "Compares the state applied to the agent with the state that it reports. A connected " +
      "agent is asked now, and with each heartbeat.",
    access: { scope: "policy:read" },
    effect: "read",
    params: AgentParams,
    agent: "agent_id",
    success: { status: 200, body: Drift },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "get_drift", destructive: false },
    handle: (work, { params }, { inquiries, policyCache }) =>
      getDrift(work, { inquiries, policyCache }, params.agent_id),
  }),
  route({
    id: "gitops.guard",
    method: "GET",
    path: "/api/v1/gitops/guard/{agent_id}",
    summary: "Get the safeguards of an agent",
    access: { scope: "policy:read" },
    effect: "read",
    params: AgentParams,
    agent: "agent_id",
    success: { status: 200, body: Guard },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "get_safeguards", destructive: false },
    handle: (work, { params }, { inquiries, policyCache }) =>
      getGuard(work, { inquiries, policyCache }, params.agent_id),
  }),
  route({
    id: "gitops.backup",
    method: "POST",
    path: "/api/v1/gitops/backup/{agent_id}",
    summary: "Back up an agent's configuration",
    description:
      "Archives the agent's settings, its policies and the files that its operator listed with " +
      "`--backup`. The response is the job: read its `status` in the list of backups. If the " +
      "link or Relay fails meanwhile, the job resumes with the agent's next link, for at most " +
      "15 minutes. The newest 20 complete backups of each agent are kept.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: { byRule: BY_RULE.backup },
    params: AgentParams,
    agent: "agent_id",
    body: z.strictObject({}),
    success: { status: 202, body: Backup },
    faults: ["AGENT_NOT_FOUND", "AGENT_OFFLINE", "CONFLICT"],
    tool: { name: "back_up_agent", destructive: false },
    handle: (work, { params }, { links, transfers, instance }) =>
      startBackup(work, { links, transfers, instance }, params.agent_id),
  }),
  route({
    id: "gitops.list_backups",
    method: "GET",
    path: "/api/v1/gitops/backups/{agent_id}",
    summary: "List the backups of an agent's configuration",
    description: "Newest first.",
    access: { scope: "policy:read" },
    effect: "read",
    params: AgentParams,
    agent: "agent_id",
    query: PageQuery,
    success: { status: 200, body: listOf("backups", Backup) },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "list_backups", destructive: false },
    handle: (work, { params, query }) => listBackups(work, params.agent_id, query),
  }),
  route({
    id: "gitops.restore",
    method: "POST",
    path: "/api/v1/gitops/restore/{agent_id}",
    summary: "Restore an agent's configuration from a backup",
    description:
      "The agent checks the digest, writes all files to a temporary place and then moves them " +
      "into place. Files below the listed paths that are not in the backup are removed. The " +
      "previous state is saved as the backup `undo_backup_id`. With `dry_run` the agent only " +
      "reports what would change. The response is the job: read its `status` in the list of " +
      "restores.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: { byRule: BY_RULE.restore },
    params: AgentParams,
    agent: "agent_id",
    body: z.strictObject({
      backup_id: Id,
      dry_run: z.boolean().default(false).meta({
        description: "Only report what would change.",
      }),
    }),
    success: { status: 202, body: Restore },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "AGENT_OFFLINE", "CONFLICT"],
    tool: { name: "restore_agent", destructive: true },
    handle: (work, { params, body }, { links, transfers, instance }) =>
      startRestore(work, { links, transfers, instance }, params.agent_id, body),
  }),
  route({
    id: "gitops.list_restores",
    method: "GET",
    path: "/api/v1/gitops/restores/{agent_id}",
    summary: "List the restores of an agent's configuration",
    description: "Newest first.",
    access: { scope: "policy:read" },
    effect: "read",
    params: AgentParams,
    agent: "agent_id",
    query: PageQuery,
    success: { status: 200, body: listOf("restores", Restore) },
    faults: ["AGENT_NOT_FOUND"],
    tool: { name: "list_restores", destructive: false },
    handle: (work, { params, query }) => listRestores(work, params.agent_id, query),
  }),
];
