import { z } from "zod";
import { collection } from "../store/collection.ts";
import { AlsoOf } from "./fields.ts";

export const APPROVAL_STATUSES = ["pending", "approved", "rejected", "expired"] as const;

/** One person's decision on a request. */
export const Decision = z.strictObject({
  /** The person, whatever credential they used. */
  user_id: z.string(),
  /** The user, key or chat that they used. */
  actor: z.string(),
  /** Who else may have held the credential. */
  also_of: AlsoOf,
  approve: z.boolean(),
  /** True for an approval by somebody who may have made the request. */
  self_approved: z.boolean().default(false),
  reason: z.string().nullable(),
  at_ms: z.number(),
});
export type Decision = z.infer<typeof Decision>;

/** A command that waits for people's decision, bound to its bytes, agents and policy version. */
export const ApprovalRecord = z.strictObject({
  id: z.string(),
  /** The command, or the fleet command whose held commands it covers. */
  command_id: z.string(),
  /** Null for a fleet command. */
  agent_id: z.string().nullable(),
  /** The agents of a fleet command: their number, and the SHA-256 of their ids in ascending order, one a line. */
  agents: z.strictObject({ count: z.int(), sha256: z.string() }).optional(),
  command: z.string(),
  /** SHA-256 of the command's UTF-8 bytes, hex. */
  command_sha256: z.string(),
  /** The alert that the command answers, and the thread of both. */
  alert_id: z.string().optional(),
  thread: z.string().optional(),
  policy_version: z.string(),
  shield_result: z.unknown(),
  /** The user or key that asked, and its person. */
  requested_by: z.string(),
  requested_user: z.string(),
  /** Who else may have held that credential. */
  requested_also: AlsoOf,
  status: z.enum(APPROVAL_STATUSES),
  /** How many people must approve. */
  required: z.int(),
  /** A decision needs one of these roles; when empty, only the scope. */
  roles: z.array(z.string()),
  self_approval: z.boolean(),
  decisions: z.array(Decision),
  /** Why it ended without a person's decision. */
  reason: z.string().nullable(),
  created_at_ms: z.number(),
  expires_at_ms: z.number(),
  resolved_at_ms: z.number().nullable(),
  /** When the record expires. */
  purge_at_ms: z.number(),
});
export type ApprovalRecord = z.infer<typeof ApprovalRecord>;

export const approvals = collection({
  name: "approvals",
  schema: ApprovalRecord,
  unique: { command: (a) => a.agents === undefined ? [a.command_id] : null },
  index: {
    status: (a) => [a.status],
    agent: (a) => a.status === "pending" && a.agent_id !== null ? [a.agent_id] : null,
  },
  queue: { pending: (a) => a.status === "pending" ? [a.expires_at_ms] : null },
  expiresAt: (a) => a.purge_at_ms,
});

/** The agents that a request for approval covers. */
export const approvedAgents = collection({
  name: "approved_agents",
  schema: z.strictObject({
    /** The id of the request. */
    id: z.string(),
    /** In ascending order. */
    agent_ids: z.array(z.string()),
    expires_at_ms: z.number(),
  }),
  expiresAt: (agents) => agents.expires_at_ms,
});
