import { z } from "zod";
import {
  decideApproval,
  decideSelfApproval,
  getApproval,
  getShieldSettings,
  listApprovals,
  suggestRules,
  updateShieldSettings,
} from "../core/agents/agents.ts";
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
  wholeNumber,
} from "./schemas/schemas.ts";

const ApprovalStatus = z.enum(APPROVAL_STATUSES).meta({ id: "ApprovalStatus" });
const Approval = z.object({
  pid: z.string().meta({ description: "The id of the blocked process." }),
  page: z.string().meta({
    description:
      "The console's page about it, as a path of the relay. A link to it decides nothing.",
    examples: ["/console/approvals/prc_0m3x1"],
  }),
  status: ApprovalStatus,
  command_id: z.string().meta({
    description: "The command, or the fleet command whose held commands it covers.",
  }),
  command_status: CommandStatus.nullable().meta({ description: "Null for a fleet command." }),
  agent_id: z.string().nullable().meta({ description: "Null for a fleet command." }),
  agents: z.object({
    count: z.int(),
    sha256: z.string().meta({
      description: "SHA-256 of the agents' ids in ascending order, one a line.",
    }),
  }).meta({ id: "ApprovedAgents" }).optional().meta({
    description: "The agents of a fleet command. `GET /api/v1/commands/{id}` lists them.",
  }),
  command: z.string(),
  command_sha256: z.string(),
  alert_id: z.string().optional().meta({ description: "The alert that the command answers." }),
  thread: z.string().optional().meta({ description: "The alert whose story it belongs to." }),
  policy_version: z.string(),
  shield_result: ShieldResult,
  requested_by: z.string(),
  requested_also: z.array(z.string()).meta({
    description: "The others who may hold the requesting credential; `*` means anyone.",
  }),
  required: z.int().meta({ description: "The number of people who must approve." }),
  roles: z.array(z.string()).meta({ description: "The roles that may decide; empty means any." }),
  decisions: z.array(
    z.object({
      user_id: z.string(),
      actor: z.string(),
      also_of: z.array(z.string()).meta({
        description:
          "The others who may hold the deciding credential, for whom the decision counts too; `*` " +
          "means anyone.",
      }),
      decision: z.enum(["approved", "rejected"]),
      self_approved: z.boolean().meta({
        description: "True when the approval may be by somebody who made the request.",
      }),
      reason: z.string().nullable(),
      at: Timestamp,
    }).meta({ id: "GivenDecision" }),
  ),
  reason: z.string().nullable(),
  created_at: Timestamp,
  expires_at: Timestamp,
  resolved_at: Timestamp.nullable(),
}).meta({ id: "Approval" });

const ReadApproval = Approval.extend({
  caller: z.object({
    may_approve: z.boolean(),
    may_reject: z.boolean(),
    next: z.enum(["sign_in", "confirm", "change_password"]).nullable().meta({
      description: "What the only member does to approve their own request.",
    }),
    why_not: z.string().nullable().meta({
      description: "Why the caller may not approve, and what to do next.",
    }),
  }).meta({ id: "CallerDecision", description: "What the caller may decide now." }),
}).meta({ id: "ReadApproval" });

const seconds = z.int().nullable();
const Suggestions = z.object({
  since: Timestamp,
  requests: z.int().describe("The number of decided or lapsed requests that were read."),
  complete: z.boolean().describe("False when older requests were left out."),
  rules: z.array(z.object({
    rule_id: z.string(),
    held: z.int().describe("The number of requests of commands that the rule held."),
    approved: z.int(),
    rejected: z.int(),
    expired: z.int().describe("The number without a decision: expired, lapsed or withdrawn."),
    median_seconds: seconds.describe("The median time to an approval; null without one."),
    slowest_seconds: seconds.describe("The longest time to an approval; null without one."),
    proposal: Policy.nullable().describe(
      "A policy for lines that were always approved. All proposals together fit into one policy.",
    ),
  })).describe("Sorted by `held`, highest first; at most 500."),
}).meta({ id: "RuleSuggestions" });

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
    watched_packs: z.array(z.string()),
    watched_rules: z.array(z.string()),
  }).describe("How the built-in rules are switched, as in `/api/v1/patterns`."),
  policy: Policy.nullable(),
  policy_version: z.string(),
  pending_self_approval: z.object({
    id: z.string(),
    requested_by: z.string(),
    created_at: Timestamp,
    expires_at: Timestamp,
  }).meta({ id: "PendingSelfApproval" }).nullable().meta({
    description: "The request to allow self-approval, while it awaits a second administrator.",
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

const ProcessParams = z.strictObject({
  pid: Id.meta({ description: "The id of the request for approval." }),
});
const DecisionBody = z.strictObject({ reason: Reason.optional() })
  .meta({ id: "ApprovalDecision" });

const ApprovalBody = DecisionBody.extend({
  confirm_self_approval: z.boolean().optional().meta({
    description:
      "Confirms your own request, as the only member that the organization ever had. It takes a " +
      "sign-in of the last 15 minutes that is newer than the request.",
  }),
}).meta({ id: "ApprovalConfirmation" });

const decide = {
  method: "POST",
  access: { scope: "approvals:write" },
  effect: "write",
  audit: {
    byRule: "approval_resolved, or approval_given while more approvals are needed, and " +
      "self_approval_given for one's own request",
  },
  params: ProcessParams,
  body: DecisionBody,
  success: { status: 200, body: Approval },
  faults: ["NOT_FOUND", "CONFLICT", "FORBIDDEN"],
} as const;

const decideChange = {
  method: "POST",
  access: { scope: "system:write" },
  effect: "write",
  body: z.strictObject({
    id: Id.meta({ description: "The `pending_self_approval.id` of the settings." }),
  }).meta({ id: "SelfApprovalDecision" }),
  success: { status: 200, body: Settings },
} as const;

export const approvalRoutes = [
  route({
    ...decide,
    id: "approvals.approve",
    path: "/api/shield/approve/{pid}",
    summary: "Approve a blocked process",
    description: "The command is sent to the agent once enough people have approved it.",
    body: ApprovalBody,
    tool: { name: "approve_command", destructive: true, common: true },
    handle: (work, { params, body }, { policyCache }) =>
      decideApproval(work, policyCache, params.pid, {
        approve: true,
        reason: body.reason ?? null,
        confirmSelfApproval: body.confirm_self_approval ?? false,
      }),
  }),
  route({
    ...decide,
    id: "approvals.reject",
    path: "/api/shield/reject/{pid}",
    summary: "Reject a blocked process",
    description: "The command never runs.",
    tool: { name: "reject_command", destructive: true, common: true },
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
    summary: "List approval requests",
    access: { scope: "approvals:read" },
    effect: "read",
    query: PageQuery.extend({
      status: ApprovalStatus.optional().meta({
        description: "Requests with this status.",
      }),
      order: z.enum(["newest", "oldest"]).default("newest").meta({
        description: "Which come first.",
      }),
    }),
    success: { status: 200, body: listOf("approvals", Approval) },
    faults: [],
    tool: { name: "list_approvals", destructive: false, common: true },
    handle: (work, { query }) => listApprovals(work, query),
  }),
  route({
    id: "approvals.get",
    method: "GET",
    path: "/api/shield/approvals/{pid}",
    summary: "Get an approval request",
    access: { scope: "approvals:read" },
    effect: "read",
    params: ProcessParams,
    success: { status: 200, body: ReadApproval },
    faults: ["NOT_FOUND"],
    tool: { name: "get_approval", destructive: false },
    handle: (work, { params }, { policyCache }) => getApproval(work, policyCache, params.pid),
  }),
  route({
    id: "approvals.suggest",
    method: "GET",
    path: "/api/shield/suggestions",
    summary: "Propose rules from past decisions",
    description:
      "Shows by rule what people decided about the commands that it held. For command lines that " +
      "were approved three times or more, and never decided otherwise, `proposal` is a policy " +
      "that allows exactly these lines on agents with the labels that all their agents share, " +
      "with its tests. Nothing is applied.",
    access: { scope: "approvals:read" },
    effect: "read",
    query: z.strictObject({
      days: wholeNumber(1, 90).prefault(30).meta({ description: "How many days to look back." }),
    }),
    success: { status: 200, body: Suggestions },
    faults: [],
    tool: { name: "list_rule_suggestions", destructive: false },
    handle: (work, { query }) => suggestRules(work, query),
  }),
  route({
    id: "shield.settings",
    method: "GET",
    path: "/api/shield/settings",
    summary: "Get the shield's settings",
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
    summary: "Change the shield's settings",
    description:
      "Fields that are left out stay unchanged. Settings that were read can be sent back: " +
      "read-only fields must be unchanged. Pending approval requests lapse.",
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
        description:
          "`enforce` applies the verdicts; the other modes let commands pass and record the " +
          "verdict.",
      }),
      agent_modes: z.record(Id, ShieldMode).refine(
        (modes) => Object.keys(modes).length <= 500,
        "must name at most 500 agents",
      ).optional().meta({
        description: "Modes of individual agents, by agent id.",
        maxProperties: 500,
      }),
      approvals: z.strictObject({
        required: z.int().min(1).max(5).optional().meta({
          description: "The number of people who must approve.",
        }),
        roles: z.array(z.string().min(1).max(64)).max(16).optional().meta({
          description: "The roles that may decide; empty means any.",
        }),
        self_approval: z.boolean().optional().meta({
          description:
            "Whether requesters may approve their own requests. Allowing it awaits a second " +
            "administrator, if there is one.",
        }),
        expires_seconds: z.int().min(60).max(7 * 24 * 3600).optional().meta({
          description: "How long a request waits for a decision, in seconds.",
        }),
      }).optional(),
      policy: Policy.nullable().optional(),
    }),
    rules: {
      "body.policy": POLICY_RULE,
      "body.agent_modes": "must name existing agents",
    },
    success: { status: 200, body: Settings },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => updateShieldSettings(work, body),
  }),
  route({
    ...decideChange,
    id: "shield.confirm_self_approval",
    path: "/api/shield/self-approval/confirm",
    summary: "Confirm self-approval as a second administrator",
    description: "Requesters may then approve their own requests.",
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
    summary: "Refuse or withdraw self-approval",
    description: "Ends the pending request to allow self-approval.",
    audit: { byRule: "self_approval_refused" },
    faults: ["NOT_FOUND"],
    handle: (work, { body }) => decideSelfApproval(work, body.id, false),
  }),
];
