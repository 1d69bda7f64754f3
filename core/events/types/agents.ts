import { z } from "zod";
import { SHIELD_MODES } from "../../../kv/records/shield.ts";
import { approvedAgents, count, id, instant, ranCommand, ranExample, receipt } from "./fields.ts";
import { event } from "./event.ts";

const agentName = z.string().describe("The agent's name.");
const deviceName = z.string().describe("The device's name.");
const address = z.string().describe("The network address of the request.");
const why = z.string().describe("Why there is no result.");
const alarm = z.strictObject({
  command_id: id("command"),
  reason: z.string().describe("What was wrong."),
});
const Mode = z.enum(SHIELD_MODES);

/** Agents, devices, commands, approvals and the shield, as far as webhooks do not carry them. */
export const agentEvents = {
  agent_restart_requested: event({
    meaning: "an agent was asked to restart",
    details: z.strictObject({ name: agentName }),
    example: { name: "web-1" },
  }),
  agent_updated: event({
    meaning: "an agent's name or the relay's labels of it were changed",
    details: z.strictObject({
      name: agentName,
      previous_name: z.string().optional().describe("Its name before; absent without a rename."),
      relay_labels: z.record(z.string(), z.string()).optional().describe(
        "All labels that belong to the relay now; absent when they stay.",
      ),
    }),
    example: { name: "web-1", previous_name: "vm" },
  }),
  agent_credential_refused: event({
    meaning: "an agent tried to connect with a credential that does not own it",
    result: "denied",
    details: z.strictObject({
      name: agentName,
      credential: z.string().describe("The id of the credential that was refused."),
    }),
    example: { name: "web-1", credential: "key_0m3xf" },
  }),
  checkpoint_refused: event({
    meaning: "an agent refused a checkpoint that contradicts the audit log it has seen",
    result: "denied",
    details: z.strictObject({
      name: agentName,
      reason: z.enum(["another_key", "unproven", "rolled_back", "rewritten"]),
      witnessed: count("The number of rows of the checkpoint that the agent keeps"),
      size: count("The number of rows of the refused checkpoint"),
    }),
    example: { name: "web-1", reason: "rolled_back", witnessed: 4211, size: 4100 },
  }),
  receipt_refused: event({
    meaning: "an agent's results were refused, because their receipt did not verify",
    result: "denied",
    details: z.strictObject({
      name: agentName,
      command_ids: z.array(z.string()).describe("The commands with results in the receipt."),
      reason: z.string().describe("What was wrong with the receipt."),
    }),
    example: {
      name: "web-1",
      command_ids: ["cmd_0m3x7"],
      reason: "the signature does not verify",
    },
  }),
  device_code_created: event({
    meaning: "a pairing code was created",
    details: z.strictObject({
      expires_at: instant("the code expires"),
      labels: z.record(z.string(), z.string()).describe("The labels of its agent."),
    }),
    example: { expires_at: "2026-01-31T12:10:00.000Z", labels: { env: "prod" } },
  }),
  device_code_deleted: event({
    meaning: "a pairing code was voided, by itself or together with the API key that made it",
    details: z.strictObject({}),
    example: {},
  }),
  device_paired: event({
    meaning: "a device presented its pairing code and awaits confirmation",
    details: z.strictObject({
      name: deviceName,
      agent_name: z.string().optional().describe("The name reserved for its agent."),
      code_by: z.string().describe("Who created the code."),
      address,
    }),
    example: {
      name: "kiosk-3",
      agent_name: "kiosk-3",
      code_by: "usr_0m3x1",
      address: "192.0.2.40",
    },
  }),
  device_confirmed: event({
    meaning: "a device was confirmed and got its credential",
    details: z.strictObject({ name: deviceName, address }),
    example: { name: "kiosk-3", address: "192.0.2.40" },
  }),
  device_deleted: event({
    meaning: "a device was deleted, and its credential ended",
    details: z.strictObject({ name: deviceName }),
    example: { name: "kiosk-3" },
  }),
  command_cancelled: event({
    meaning: "a command was cancelled",
    details: z.strictObject({
      ...ranCommand,
      cancelled_by: z.string().optional().describe("Who asked to cancel it."),
      receipt: receipt.optional(),
      status: z.literal("cancelled"),
      reason: why.optional(),
    }),
    example: {
      ...ranExample,
      command: "sleep 120",
      cancelled_by: "usr_0m3x8",
      exit_code: null,
      signal: "SIGTERM",
      status: "cancelled",
    },
  }),
  command_failed: event({
    meaning: "a command ended without a result: it failed to start, was refused or its link broke",
    result: "failure",
    details: z.strictObject({
      ...ranCommand,
      cancelled_by: z.string().optional().describe("Who had asked to cancel it."),
      receipt: receipt.optional(),
      status: z.enum(["failed", "lost"]).describe("`lost` when its outcome is unknown."),
      reason: why,
    }),
    example: {
      ...ranExample,
      exit_code: null,
      duration_ms: null,
      output_bytes: 0,
      reason: "the agent could not start it",
      status: "failed",
    },
  }),
  approval_mismatch: event({
    meaning:
      "an approved command was not sent, because its bytes, agent or policy differ from the approved ones",
    result: "denied",
    details: alarm,
    example: { command_id: "cmd_0m3x9", reason: "the command is not the one that was approved" },
  }),
  verdict_refused: event({
    meaning: "an agent refused a command, because its verdict did not verify",
    result: "denied",
    details: alarm,
    example: { command_id: "cmd_0m3x9", reason: "the agent refused it: unverified" },
  }),
  approval_given: event({
    meaning: "one of several required approvals was given",
    details: z.strictObject({
      agents: approvedAgents,
      pid: id("blocked process"),
      command_id: id("command"),
      decided_by: z.string().describe("Who gave it: a user, an API key or a Telegram link."),
      requested_by: z.string().describe("Who asked for the command: a user or an API key."),
      reason: z.string().nullable().describe("The reason they gave."),
      required: z.int().min(1).describe("How many people must approve."),
    }),
    example: {
      pid: "prc_0m3x4",
      command_id: "cmd_0m3x9",
      decided_by: "usr_0m3x8",
      requested_by: "usr_0m3x1",
      reason: "planned maintenance",
      required: 2,
    },
  }),
  canary_run: event({
    meaning: "the shield's canary ran",
    details: z.strictObject({
      command_id: z.string().nullable().describe(
        "The command that ran on an agent; null without an agent.",
      ),
      failed: z.array(z.string()).describe("The layers that failed, or `agent`."),
      status: z.enum(["passed", "failed"]),
    }),
    example: { command_id: null, failed: [], status: "passed" },
  }),
  patterns_changed: event({
    meaning: "built-in rules of the shield were switched",
    details: z.strictObject({
      disabled_packs: z.array(z.string()).describe("The disabled packs."),
      disabled_rules: z.array(z.string()).describe("The individually disabled rules."),
      watched_packs: z.array(z.string()).optional().describe("The packs that only watch."),
      watched_rules: z.array(z.string()).optional().describe("The single rules that only watch."),
      policy_version: z.string().describe("The version in force afterwards."),
    }),
    example: {
      disabled_packs: ["kubernetes"],
      disabled_rules: [],
      watched_packs: ["production"],
      watched_rules: [],
      policy_version: "60303ae22b998861",
    },
  }),
  shield_changed: event({
    meaning: "the settings of the shield were changed",
    details: z.strictObject({
      mode: Mode,
      agent_modes: z.record(z.string(), Mode).optional().describe(
        "Modes of single agents; absent when there are too many to show.",
      ),
      agents_with_modes: count("The number of agents with a mode of their own"),
      approvals: z.strictObject({
        required: z.int().min(1),
        roles: z.array(z.string()),
        self_approval: z.boolean(),
        expires_seconds: z.int().min(1),
      }).describe("Who must approve held commands."),
      patterns: z.strictObject({
        disabled_packs: z.array(z.string()),
        disabled_rules: z.array(z.string()),
        watched_packs: z.array(z.string()).optional(),
        watched_rules: z.array(z.string()).optional(),
      }).describe("How the built-in rules are switched."),
      policy_rules: count("The number of rules in the shield's own policy"),
      policy_version: z.string().describe("The version in force afterwards."),
    }),
    example: {
      mode: "enforce",
      agent_modes: { agt_0m3xa: "observe" },
      agents_with_modes: 1,
      approvals: { required: 2, roles: ["admin"], self_approval: false, expires_seconds: 900 },
      patterns: {
        disabled_packs: ["kubernetes"],
        disabled_rules: [],
        watched_packs: ["production"],
        watched_rules: [],
      },
      policy_rules: 3,
      policy_version: "9f86d081884c7d65",
    },
  }),
} as const;
