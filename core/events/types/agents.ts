import { z } from "zod";
import { SHIELD_MODES } from "../../../kv/records/shield.ts";
import { count, id, instant, ranCommand, ranExample, receipt } from "./fields.ts";
import { event } from "./event.ts";

const agentName = z.string().describe("The agent's name.");
const deviceName = z.string().describe("The device's name.");
const address = z.string().describe("The network address that the request came from.");
const why = z.string().describe("Why there is no result.");
const alarm = z.strictObject({
  command_id: id("command"),
  reason: z.string().describe("What was not as it must be."),
});
const Mode = z.enum(SHIELD_MODES);

/** Agents, devices, commands, approvals, and the shield. */
export const agentEvents = {
  agent_restart_requested: event({
    meaning: "an agent was told to start again",
    details: z.strictObject({ name: agentName }),
    example: { name: "web-1" },
  }),
  agent_credential_refused: event({
    meaning: "an agent tried to connect as one that another credential owns",
    details: z.strictObject({
      name: agentName,
      credential: z.string().describe("The id of the credential that was refused."),
    }),
    example: { name: "web-1", credential: "key_0m3xf" },
  }),
  checkpoint_refused: event({
    meaning: "an agent was shown another past of the audit log than the one it knows",
    details: z.strictObject({
      name: agentName,
      reason: z.enum(["another_key", "unproven", "rolled_back", "rewritten"]),
      witnessed: count("How many rows the checkpoint speaks of that it keeps"),
      size: count("How many rows the refused one speaks of"),
    }),
    example: { name: "web-1", reason: "rolled_back", witnessed: 4211, size: 4100 },
  }),
  receipt_refused: event({
    meaning: "an agent's results were not taken, because their receipt did not verify",
    details: z.strictObject({
      name: agentName,
      command_ids: z.array(z.string()).describe("The commands whose results came with it."),
      reason: z.string().describe("What was wrong with it."),
    }),
    example: {
      name: "web-1",
      command_ids: ["cmd_0m3x7"],
      reason: "the signature does not verify",
    },
  }),
  device_code_created: event({
    meaning: "a one-time code for pairing a device was made",
    details: z.strictObject({
      expires_at: instant("the code lapses"),
      labels: z.record(z.string(), z.string()).describe("What its agent is labelled with."),
    }),
    example: { expires_at: "2026-01-31T12:10:00.000Z", labels: { env: "prod" } },
  }),
  device_code_deleted: event({
    meaning: "a one-time code was made void, with the API key that had made it",
    details: z.strictObject({}),
    example: {},
  }),
  device_paired: event({
    meaning: "a device showed its pairing code, and waits for its confirmation",
    details: z.strictObject({
      name: deviceName,
      code_by: z.string().describe("Who made the code."),
      address,
    }),
    example: { name: "kiosk-3", code_by: "usr_0m3x1", address: "192.0.2.40" },
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
      cancelled_by: z.string().optional().describe("Who asked for its end."),
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
    details: z.strictObject({
      ...ranCommand,
      cancelled_by: z.string().optional().describe("Who had asked for its end."),
      receipt: receipt.optional(),
      status: z.enum(["failed", "lost"]).describe("Lost when nobody knows what became of it."),
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
      "an approved command was not sent: its bytes, agent or policy are not those that were approved",
    details: alarm,
    example: { command_id: "cmd_0m3x9", reason: "the command is not the one that was approved" },
  }),
  verdict_refused: event({
    meaning: "an agent did not run a command, because its verdict did not verify",
    details: alarm,
    example: { command_id: "cmd_0m3x9", reason: "the agent refused it: unverified" },
  }),
  approval_given: event({
    meaning: "one of several people whose approval is needed has given it",
    details: z.strictObject({
      pid: id("blocked process"),
      command_id: id("command"),
      decided_by: z.string().describe("Who gave it: a user, an API key or a Telegram link."),
      requested_by: z.string().describe("Who asked for the command: a user or an API key."),
      reason: z.string().nullable().describe("What they wrote."),
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
    meaning: "the shield's canary was run",
    details: z.strictObject({
      command_id: z.string().nullable().describe("What ran on an agent; null without one."),
      failed: z.array(z.string()).describe("The layers that were not as they must be, or `agent`."),
      status: z.enum(["passed", "failed"]),
    }),
    example: { command_id: null, failed: [], status: "passed" },
  }),
  patterns_changed: event({
    meaning: "built-in rules of the shield were switched on or off",
    details: z.strictObject({
      disabled_packs: z.array(z.string()).describe("The packs that are off since."),
      disabled_rules: z.array(z.string()).describe("The single rules that are off since."),
      policy_version: z.string().describe("The version in force since."),
    }),
    example: {
      disabled_packs: ["kubernetes"],
      disabled_rules: [],
      policy_version: "60303ae22b998861",
    },
  }),
  shield_changed: event({
    meaning: "the settings of the shield were changed",
    details: z.strictObject({
      mode: Mode,
      agent_modes: z.record(z.string(), Mode).optional().describe(
        "Modes of single agents; not there when they are too many to be shown.",
      ),
      agents_with_modes: count("How many agents have a mode of their own"),
      approvals: z.strictObject({
        required: z.int().min(1),
        roles: z.array(z.string()),
        self_approval: z.boolean(),
        expires_seconds: z.int().min(1),
      }).describe("Who must approve what is held."),
      patterns: z.strictObject({
        disabled_packs: z.array(z.string()),
        disabled_rules: z.array(z.string()),
      }).describe("The built-in rules that are off."),
      policy_rules: count("How many rules the shield's own policy has"),
      policy_version: z.string().describe("The version in force since."),
    }),
    example: {
      mode: "enforce",
      agent_modes: { agt_0m3xa: "observe" },
      agents_with_modes: 1,
      approvals: { required: 2, roles: ["admin"], self_approval: false, expires_seconds: 900 },
      patterns: { disabled_packs: ["kubernetes"], disabled_rules: [] },
      policy_rules: 3,
      policy_version: "9f86d081884c7d65",
    },
  }),
} as const;
