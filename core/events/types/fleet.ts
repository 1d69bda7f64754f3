import { z } from "zod";
import { COMMAND_STATUSES } from "../../../kv/records/command.ts";
import { actor, count, cutCommand } from "./fields.ts";
import { event } from "./event.ts";

const agents = count("How many agents it is for, each with a command of its own");

/** Commands for many agents. Each of their commands has the events of a single one. */
export const fleetEvents = {
  fleet_command_started: event({
    meaning: "a command was started on many agents",
    details: z.strictObject({
      ...cutCommand,
      agents,
      agents_sha256: z.hex().describe(
        "The SHA-256 of the agents' ids in ascending order, one a line.",
      ),
      parallel: z.int().describe("How many of its commands run at once."),
      stop_after_failures: z.int().nullable().describe(
        "After so many failures no further command starts; null for any number.",
      ),
      user: actor("asked for it"),
    }),
    example: {
      command: "uptime",
      agents: 200,
      agents_sha256: "3f79bb7b435b05321651daefd374cdc681dc06faa65e374e38337b88ca046dea",
      parallel: 20,
      stop_after_failures: null,
      user: "usr_0m3x1",
    },
  }),
  fleet_command_ended: event({
    meaning: "all commands of a fleet command have ended",
    result: ({ counts, agents }) =>
      (counts as { succeeded?: number }).succeeded === agents ? "success" : "failure",
    details: z.strictObject({
      agents,
      counts: z.partialRecord(z.enum(COMMAND_STATUSES), z.int()).describe(
        "How many commands have each status.",
      ),
      stopped: z.enum(["cancelled", "failures", "relay_stopped"]).nullable().describe(
        "Why some were not started; null when all were.",
      ),
      cancelled_by: z.string().optional().describe("Who cancelled it."),
    }),
    example: { agents: 200, counts: { failed: 2, succeeded: 198 }, stopped: null },
  }),
};
