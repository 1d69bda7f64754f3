import { z } from "zod";
import {
  decideApproval,
  decideSelfApproval,
  getApproval,
  getShieldSettings,
  listApprovals,
  updateShieldSettings,
} from "../core/commands/commands.ts";
import { Policy, ShieldResult } from "../core/shield/shield.ts";
import { APPROVAL_STATUSES } from "../kv/records/approval.ts";
import { CommandStatus } from "./commands.ts";
import { route } from "./call/route.ts";
import {
  changeOf,
  Id,
  listOf,
  PageQuery,
  POLICY_RULE,
  Reason,
  ShieldMode,
  Timestamp,
} from "./schemas/schemas.ts";

const ApprovalStatus = z.enum(APPROVAL_STATUSES).meta({ id: "ApprovalStatus" });
const Approval = z.object({
  pid: z.string().meta({ description: "The id of the blocked process." }),
  status: ApprovalStatus,
  command_id: z.string(),
  command_status: CommandStatus.nullable(),
  agent_id: z.string(),
  command: z.string(),
  command_sha256: z.string(),
  policy_version: z.string(),
  shield_result: ShieldResult,
  requested_by: z.string(),
  requested_also: z.array(z.string()).meta({
    description: "Who else may hold the credential that it was asked with; `*` for everybody.",
  }),
  required: z.int().meta({ description: "How many people must approve." }),
  roles: z.array(z.string()).meta({ description: "One of these roles decides; empty for any." }),
  decisions: z.array(z.object({
    user_id: z.string(),
    actor: z.string(),
    also_of: z.array(z.string()).meta({
      description:
        "Whose decision it counts as too: who may hold the credential; `*` for everybody.",
    }),
    decision: z.enum(["approved", "rejected"]),
    reason: z.string().nullable(),
    at: Timestamp,
  })),
  reason: z.string().nullable(),
  created_at: Timestamp,
  expires_at: Timestamp,
  resolved_at: Timestamp.nullable(),
}).meta({ id: "Approval" });

const Settings = z.object({
  mode: ShieldMode,
  agent_modes: z.record(z.string(), ShieldMode),
  approvals: z.object({
    required: z.int(),
    roles: z.array(z.string()),
    self_approval: z.boolean(),
    expires_seconds: z.int(),
  }),
  patterns: z.object({
    disabled_packs: z.array(z.string()),
    disabled_rules: z.array(z.string()),
  }).describe("Built-in rules that do not count: `/api/v1/patterns`."),
  policy: Policy.nullable(),
  policy_version: z.string(),
  pending_self_approval: z.object({
    id: z.string(),
    requested_by: z.string(),
    created_at: Timestamp,
    expires_at: Timestamp,
  }).meta({ id: "PendingSelfApproval" }).nullable().meta({
    description: "Turning on self-approval, while it waits for a second administrator.",
  }),
}).meta({ id: "ShieldSettings" });

/** The most characters of agents' modes in an event. The version holds all modes. */
const SHOWN_MODES_CHARS_MAX = 4 * 1024;

function showChange(
  { policy, agent_modes, pending_self_approval: _, ...settings }: z.input<typeof Settings>,
) {
  const shown = JSON.stringify(agent_modes).length <= SHOWN_MODES_CHARS_MAX;
  return {
    ...settings,
    ...(shown && { agent_modes }),
    agents_with_modes: Object.keys(agent_modes).length,
    policy_rules: policy?.rules?.length ?? 0,
  };
}

const ProcessParams = z.strictObject({ pid: Id });
const DecisionBody = z.strictObject({ reason: Reason.optional() })
  .meta({ id: "ApprovalDecision" });

const decide = {
  method: "POST",
  access: { scope: "approvals:write" },
  effect: "write",
  audit: { byRule: "approval_resolved, or approval_given while more people are needed" },
  params: ProcessParams,
  body: DecisionBody,
  success: { status: 200, body: Approval },
  faults: ["NOT_FOUND", "CONFLICT", "FORBIDDEN"],
  tool: { destructive: true },
} as const;

const decideChange = {
  method: "POST",
  access: { scope: "system:write" },
  effect: "write",
  body: z.strictObject({
    id: Id.meta({ description: "`pending_self_approval.id` of the settings." }),
  }).meta({ id: "SelfApprovalDecision" }),
  success: { status: 200, body: Settings },
} as const;

export const approvalRoutes = [
  route({
    ...decide,
    id: "approvals.approve",
    path: "/api/shield/approve/{pid}",
    summary: "Approve a blocked process: its command is sent when enough people have",
    handle: (work, { params, body }, { policyCache }) =>
      decideApproval(work, policyCache, params.pid, { approve: true, reason: body.reason ?? null }),
  }),
  route({
    ...decide,
    id: "approvals.reject",
    path: "/api/shield/reject/{pid}",
    summary: "Reject a blocked process: its command never runs",
    handle: (work, { params, body }, { policyCache }) =>
      decideApproval(work, policyCache, params.pid, {
        approve: false,
        reason: body.reason ?? null,
      }),
  }),
  route({
    id: "approvals.list",
    method: "GET",
    path: "/api/shield/approvals",
    summary: "The approval queue, newest first",
    access: { scope: "approvals:read" },
    effect: "read",
    query: PageQuery.extend({
      status: ApprovalStatus.optional().meta({
        description: "Requests of this status.",
      }),
    }),
    success: { status: 200, body: listOf("approvals", Approval) },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listApprovals(work, query),
  }),
  route({
    id: "approvals.get",
    method: "GET",
    path: "/api/shield/approvals/{pid}",
    summary: "One request for approval",
    access: { scope: "approvals:read" },
    effect: "read",
    params: ProcessParams,
    success: { status: 200, body: Approval },
    faults: ["NOT_FOUND"],
    tool: { destructive: false },
    handle: (work, { params }) => getApproval(work, params.pid),
  }),
  route({
    id: "shield.settings",
    method: "GET",
    path: "/api/shield/settings",
    summary: "How the shield decides",
    access: { scope: "system:read" },
    effect: "read",
    success: { status: 200, body: Settings },
    faults: [],
    handle: (work) => getShieldSettings(work),
  }),
  route({
    id: "shield.change",
    method: "PATCH",
    path: "/api/shield/settings",
    summary: "Change how the shield decides; waiting requests for approval lapse",
    description: "What is left out stays. Settings that were read can be sent back: read-only " +
      "fields must be as they were.",
    access: { scope: "system:write" },
    effect: "write",
    audit: {
      event: "shield_changed",
      resource: "shield",
      id: () => "shield",
      details: showChange,
    },
    body: changeOf(Settings, {
      mode: ShieldMode.optional().meta({
        description: "`enforce` binds; the others let pass, and say what would be.",
      }),
      agent_modes: z.record(Id, ShieldMode).refine(
        (modes) => Object.keys(modes).length <= 500,
        "at most 500 agents",
      ).optional().meta({ description: "Modes of single agents, by id.", maxProperties: 500 }),
      approvals: z.strictObject({
        required: z.int().min(1).max(5).optional().meta({
          description: "How many people must approve.",
        }),
        roles: z.array(z.string().min(1).max(64)).max(16).optional().meta({
          description: "Of which roles; of any when there are none.",
        }),
        self_approval: z.boolean().optional().meta({
          description:
            "Whether whoever asked may approve. Turning it on waits for a second administrator, where there is one.",
        }),
        expires_seconds: z.int().min(60).max(7 * 24 * 3600).optional().meta({
          description: "How long a request waits.",
        }),
      }).optional(),
      policy: Policy.nullable().optional(),
    }),
    rules: {
      "body.policy": POLICY_RULE,
      "body.agent_modes": "names agents",
    },
    success: { status: 200, body: Settings },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => updateShieldSettings(work, body),
  }),
  route({
    ...decideChange,
    id: "shield.confirm_self_approval",
    path: "/api/shield/self-approval/confirm",
    summary: "Confirm, as a second person, that people may approve their own requests",
    audit: {
      event: "shield_changed",
      resource: "shield",
      id: () => "shield",
      details: showChange,
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => decideSelfApproval(work, body.id, true),
  }),
  route({
    ...decideChange,
    id: "shield.refuse_self_approval",
    path: "/api/shield/self-approval/refuse",
    summary: "Refuse that people may approve their own requests, or take it back",
    audit: { byRule: "self_approval_refused" },
    faults: ["NOT_FOUND"],
    handle: (work, { body }) => decideSelfApproval(work, body.id, false),
  }),
];
