import { z } from "zod";

import {
  actor,
  approvedAgentNames,
  approvedAgents,
  cutCommand,
  durationMs,
  id,
  instant,
  ranCommand,
  ranExample,
  receipt,
} from "./fields.ts";
import type { Outcome } from "./event.ts";
import type { Scope } from "../../identity/identity.ts";

/** An event type that webhooks may subscribe to. */
export interface WebhookEvent<Payload extends z.ZodObject = z.ZodObject> {
  readonly category: string;
  readonly meaning: string;
  /** Absent for a success. */
  readonly result?: Outcome;
  /** The right that a webhook's creator needs to receive it. */
  readonly scope: Scope;
  readonly payload: Payload;
  /** An example payload, for the documentation and for tests of receivers. */
  readonly example: z.infer<Payload>;
}

const commands = { category: "Commands", scope: "agents:read" } as const;
const agents = { category: "Agents", scope: "agents:read" } as const;
const sessions = { category: "Sessions", scope: "agents:read" } as const;
const policies = { category: "Policies", scope: "policy:read" } as const;
const approvals = { category: "Approvals", scope: "approvals:read" } as const;
const compliance = { category: "Compliance", scope: "compliance:read" } as const;

const shieldResult = z.strictObject({
  risk_score: z.int().min(0).max(100).describe("From 0, harmless, to 100, destructive."),
  threats: z.array(z.string()).describe("The threats found in the command."),
  layer: z.string().describe("The layer of the shield that decided."),
}).describe("The verdict of the shield.");

const agent = {
  name: z.string().describe("The agent's name."),
  version: z.string().nullable().describe("The agent program's version."),
  platform: z.string().nullable().describe("Operating system and architecture."),
  hostname: z.string().nullable().describe("The name of its machine."),
  labels: z.record(z.string(), z.string()).describe("The agent's labels."),
};

const session = {
  session_id: id("MCP session"),
  client: z.strictObject({ name: z.string(), version: z.string() }).nullable()
    .describe("The client's name and version as it states them."),
  user: actor("opened the session"),
};

const endedSession = {
  ...session,
  duration_ms: durationMs,
  calls: z.int().min(0).describe("Tool calls made in the session."),
};

const policy = {
  policy_id: id("policy"),
  name: z.string().describe("The policy's name."),
  version: z.string().describe("The version in force after the change, or the last one."),
  repository: z.string().nullable().describe("The Git repository it comes from."),
  commit: z.string().nullable().describe("The commit it comes from."),
  user: actor("made the change"),
  on_behalf_of: id("person with whose right Relay itself made the change").optional(),
};

const approval = {
  agents: approvedAgents,
  pid: id("blocked process"),
  command_id: id("command, or of the fleet command whose held commands it covers"),
  ...cutCommand,
  requested_by: actor("asked for the command"),
};

const riskyShield = { risk_score: 55, threats: ["service_restart"], layer: "patterns" };
const exampleReceipt = {
  signature:
    "5f0sH3xGm7s4n2Ykq1vZ0w8c6b9dJtLrUoPiAaSeDfQgWhXjCkVlBzNmEyRtTuIoPaSdFgHjKlZxCvBnMqWeAg",
  stdout_sha256: "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
  verdict: "q8Zk0c1m4yH2vN6r.1",
};
const exampleAgent = {
  name: "web-1",
  version: "1.4.0",
  platform: "linux-x86_64",
  hostname: "web-1.example.com",
  labels: { env: "production" },
};
const exampleSession = {
  session_id: "ses_0m3x5",
  client: { name: "example-client", version: "2.1.0" },
  user: "usr_0m3x1",
};
const exampleEnd = { ...exampleSession, duration_ms: 90_000, calls: 12 };
const examplePolicy = {
  policy_id: "pol_0m3x2",
  name: "production",
  version: "7",
  repository: "https://git.example.com/policies.git",
  commit: "0f5e1c0d9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d",
  user: "usr_0m3x1",
};
const exampleApproval = {
  pid: "prc_0m3x4",
  command_id: "cmd_0m3x9",
  command: "systemctl restart nginx",
  requested_by: "usr_0m3x1",
};

/** A command may end by itself although somebody asked to cancel it. */
const cancelAsked = z.string().optional().describe("Who had asked to cancel it.");

/** Checks an example against the schema of its payload. */
function webhookEvent<Payload extends z.ZodObject>(
  row: WebhookEvent<Payload>,
): WebhookEvent<Payload> {
  return row;
}

/** Every event type that a webhook may subscribe to. */
export const WEBHOOK_EVENTS = {
  command_executed: webhookEvent({
    ...commands,
    meaning: "command executed successfully",
    result: ({ status }) => status === "failed" ? "failure" : "success",
    payload: z.strictObject({
      ...ranCommand,
      cancelled_by: cancelAsked,
      receipt,
      status: z.enum(["succeeded", "failed"]).describe("By the exit code."),
    }),
    example: { ...ranExample, receipt: exampleReceipt, status: "succeeded" },
  }),
  command_denied: webhookEvent({
    ...commands,
    meaning: "command blocked by policy",
    result: "denied",
    payload: z.strictObject({
      command_id: id("command").optional().describe(
        "The id of the command; absent in rows of earlier versions.",
      ),
      ...cutCommand,
      shield_result: shieldResult,
      policy_id: z.string().describe(
        "The applied policy that decided, as `GET /api/v1/gitops/policies/{id}` takes it; `shield` " +
          "for the policy of `GET /api/shield/settings`; else the pack, as `GET /api/v1/patterns` lists it.",
      ),
      rule_id: z.string().optional().describe(
        "The rule that weighed most; older events have it in `policy_id`.",
      ),
      session_id: z.string().describe("The MCP or sign-in session, or the API key."),
      correlation_id: z.string().describe("The request's id, as in `X-Request-Id`."),
      user: z.string().describe("The user who asked, or who made the API key that did."),
    }),
    example: {
      command_id: "cmd_0m3x7",
      command: "rm -rf /",
      shield_result: { risk_score: 100, threats: ["destructive_delete"], layer: "patterns" },
      policy_id: "filesystem",
      rule_id: "filesystem.remove_root",
      session_id: "ses_0m3x5",
      correlation_id: "0198c0de-5e1f-4a6b-9d3c-2f7a41b8e605",
      user: "usr_0m3x1",
    },
  }),
  command_timeout: webhookEvent({
    ...commands,
    meaning: "command exceeded its time",
    result: "failure",
    payload: z.strictObject({
      ...ranCommand,
      cancelled_by: cancelAsked,
      receipt: receipt.optional(),
      status: z.literal("timed_out"),
      reason: z.string().optional().describe("Why the relay ended it instead of the agent."),
    }),
    example: {
      ...ranExample,
      command: "sleep 120",
      exit_code: null,
      signal: "SIGKILL",
      duration_ms: 60_000,
      status: "timed_out",
    },
  }),
  agent_connected: webhookEvent({
    ...agents,
    meaning: "agent connected to the server",
    payload: z.strictObject(agent),
    example: exampleAgent,
  }),
  agent_disconnected: webhookEvent({
    ...agents,
    meaning: "agent disconnected",
    payload: z.strictObject({
      name: agent.name,
      reason: z.string().describe(
        "The name of the link's close code, such as `replaced`, or `connection_lost`, " +
          "`heartbeat_lost`, or `relay_lost` when the relay that held the link died.",
      ),
    }),
    example: { name: "web-1", reason: "heartbeat_lost" },
  }),
  agent_health_changed: webhookEvent({
    ...agents,
    meaning: "agent health status changed",
    payload: z.strictObject({
      name: agent.name,
      from: z.enum(["online", "degraded", "offline"]),
      to: z.enum(["online", "degraded", "offline"]),
    }),
    example: { name: "web-1", from: "online", to: "degraded" },
  }),
  agent_created: webhookEvent({
    ...agents,
    meaning: "new agent registered",
    payload: z.strictObject({ ...agent, user: actor("registered the agent") }),
    example: { ...exampleAgent, user: "usr_0m3x1" },
  }),
  agent_deleted: webhookEvent({
    ...agents,
    meaning: "agent removed",
    payload: z.strictObject({ name: agent.name, user: actor("removed the agent") }),
    example: { name: "web-1", user: "usr_0m3x1" },
  }),
  session_started: webhookEvent({
    ...sessions,
    meaning: "MCP session started",
    payload: z.strictObject({ ...session, protocol_version: z.string() }),
    example: { ...exampleSession, protocol_version: "2025-11-25" },
  }),
  session_closed: webhookEvent({
    ...sessions,
    meaning: "MCP session ended",
    payload: z.strictObject(endedSession),
    example: exampleEnd,
  }),
  session_timeout: webhookEvent({
    ...sessions,
    meaning: "MCP session timed out",
    payload: z.strictObject({ ...endedSession, idle_seconds: z.int().min(0) }),
    example: { ...exampleEnd, idle_seconds: 1800 },
  }),
  policy_created: webhookEvent({
    ...policies,
    meaning: "policy created",
    payload: z.strictObject(policy),
    example: { ...examplePolicy, version: "1" },
  }),
  policy_updated: webhookEvent({
    ...policies,
    meaning: "policy updated",
    payload: z.strictObject({ ...policy, previous_version: z.string() }),
    example: { ...examplePolicy, previous_version: "6" },
  }),
  policy_deleted: webhookEvent({
    ...policies,
    meaning: "policy deleted",
    payload: z.strictObject(policy),
    example: examplePolicy,
  }),
  approval_requested: webhookEvent({
    ...approvals,
    meaning: "command approval requested",
    payload: z.strictObject({
      ...approval,
      agent_names: approvedAgentNames,
      shield_result: shieldResult,
      expires_at: instant("the request expires"),
    }),
    example: {
      ...exampleApproval,
      shield_result: riskyShield,
      expires_at: "2026-01-31T12:15:00.000Z",
    },
  }),
  approval_resolved: webhookEvent({
    ...approvals,
    meaning: "approval granted or rejected",
    result: ({ decision }) =>
      decision === "rejected" ? "denied" : decision === "expired" ? "failure" : "success",
    payload: z.strictObject({
      ...approval,
      decision: z.enum(["approved", "rejected", "expired"]),
      decided_by: z.string().nullable().describe(
        "Who decided: a user, an API key or a linked Telegram account; null when it expired.",
      ),
      decided_at: instant("it was decided or expired"),
      reason: z.string().nullable().describe("The reason given with the decision."),
    }),
    example: {
      ...exampleApproval,
      decision: "approved",
      decided_by: "usr_0m3x8",
      decided_at: "2026-01-31T12:03:20.000Z",
      reason: "planned maintenance",
    },
  }),
  compliance_report_generated: webhookEvent({
    ...compliance,
    meaning: "compliance report generated",
    payload: z.strictObject({
      report_id: id("report"),
      type: z.string().describe("The report type."),
      period: z.strictObject({ from: z.iso.date(), to: z.iso.date() }),
      user: actor("asked for the report"),
    }),
    example: {
      report_id: "rep_0m3x6",
      type: "access-review",
      period: { from: "2026-01-01", to: "2026-01-31" },
      user: "usr_0m3x1",
    },
  }),
} as const;

export type WebhookEventType = keyof typeof WEBHOOK_EVENTS;

/** The 17 types, in the order of the table. */
export const EVENT_TYPES = Object.keys(WEBHOOK_EVENTS) as [WebhookEventType, ...WebhookEventType[]];

/** True for types that webhooks can subscribe to, which excludes the ping. */
export const isWebhookEvent = (type: string): type is WebhookEventType =>
  Object.hasOwn(WEBHOOK_EVENTS, type);

/** The event that `POST /webhooks/{id}/test` sends. Webhooks cannot subscribe to it. */
export const PING = {
  type: "ping",
  payload: z.strictObject({
    message: z.string(),
    webhook_id: id("webhook"),
    events: z.array(z.enum(EVENT_TYPES)).describe("The types that the webhook subscribes to."),
  }),
  example: {
    message: "The webhook works.",
    webhook_id: "whk_0m3x3",
    events: ["command_denied"],
  },
} as const;
