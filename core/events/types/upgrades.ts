import { z } from "zod";
import { UPGRADE_STATUSES } from "../../../kv/records/backup.ts";
import { event } from "./event.ts";
import { count, id } from "./fields.ts";

const version = z.string().describe("The version that the agents are upgraded to.");
const agent = {
  name: z.string().describe("The agent's name."),
  upgrade_id: id("upgrade"),
  user: z.string().describe("Who asked for it: a user or an API key."),
};
const agentExample = { name: "web-1", upgrade_id: "upg_0m3xg", user: "usr_0m3x1" };

/** Upgrades of agents' programs. */
export const upgradeEvents = {
  upgrade_started: event({
    meaning: "an upgrade of agents to the relay's version was requested",
    details: z.strictObject({
      version,
      agents: count("The number of agents"),
      stop_after: count("The number of failures that stops it"),
    }),
    example: { version: "0.2.0", agents: 40, stop_after: 1 },
  }),
  upgrade_ended: event({
    meaning: "an upgrade of agents ended or was stopped",
    details: z.strictObject({
      version,
      status: z.enum(UPGRADE_STATUSES).exclude(["running"]),
      upgraded: count("The number of agents with the new program"),
      failed: count("The number of agents that kept their program"),
      left: count("The number of agents that were not asked"),
    }),
    example: { version: "0.2.0", status: "complete", upgraded: 39, failed: 1, left: 0 },
  }),
  agent_upgraded: event({
    meaning: "an agent came back with its new program",
    details: z.strictObject({
      ...agent,
      version: z.string().describe("The version that it has now."),
      previous_version: z.string(),
      sha256: z.string().nullable().describe(
        "SHA-256 of the program, hex; null when the agent got it in another way.",
      ),
    }),
    example: {
      ...agentExample,
      version: "0.2.0",
      previous_version: "0.1.0",
      sha256: "98ea6e4f216f2fb4b69fff9b3a44842c38686ca685f3f55dc48c5d3fb1107be4",
    },
  }),
  agent_upgrade_failed: event({
    meaning: "an agent runs its earlier program, because an upgrade failed",
    result: "failure",
    details: z.strictObject({ ...agent, version, reason: z.string().describe("Why it failed.") }),
    example: {
      ...agentExample,
      version: "0.2.0",
      reason: "it ended with exit code 1 before the relay had welcomed it",
    },
  }),
} as const;
