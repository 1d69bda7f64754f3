import { z } from "zod";
import {
  AGENTS_MAX,
  cancelFleetCommand,
  getFleetCommand,
  showFleetCommand,
  startFleetCommand,
} from "../core/agents/agents.ts";
import { Fault } from "../core/fault/fault.ts";
import { within } from "../core/ports/ports.ts";
import { COMMAND_STATUSES } from "../kv/records/command.ts";
import { ListedCommand } from "./command_lists.ts";
import { CommandStatus, CommandText, Timeout } from "./commands.ts";
import { route } from "./call/route.ts";
import {
  AgentRef,
  AlertId,
  commaList,
  Id,
  Instant,
  LabelSelector,
  PageLimit,
  Timestamp,
} from "./schemas/schemas.ts";

const PARALLEL_MAX = 200;
const PARALLEL_DEFAULT = 20;
const WAIT_SECONDS_MAX = 60;
const SELECT_ONCE = "must be given, or else one of `labels` and `all`, but only one of the three";

const FleetStatus = z.enum(["running", "succeeded", "failed", "cancelled"])
  .meta({ id: "FleetStatus" });
const FleetStop = z.object({
  reason: z.enum(["cancelled", "failures", "relay_stopped"]).meta({ id: "FleetStopReason" }),
  by: z.string().nullable().meta({ description: "Who cancelled it." }),
  at: Timestamp,
}).meta({ id: "FleetStop" });

const FleetCommand = z.object({
  id: z.string(),
  command: z.string(),
  status: FleetStatus.meta({
    description: "`succeeded` when all commands have; `cancelled` when somebody cancelled it.",
  }),
  stopped: FleetStop.nullable().meta({
    description: "Why no further command starts; null while they do.",
  }),
  total: z.int().meta({ description: "The number of agents." }),
  counts: z.record(CommandStatus, z.int()).meta({
    description: "How many commands have each status. Their sum is `total`.",
  }),
  parallel: z.int(),
  stop_after_failures: z.int().nullable(),
  timeout: z.number().meta({ description: "Seconds that each command may run." }),
  actor: z.string().meta({ description: "The user or API key that asked." }),
  approvals: z.array(z.string()).meta({
    description: "The requests for approval of the commands that were held.",
  }),
  alert_id: z.string().optional().meta({ description: "The alert that it answers." }),
  created_at: Timestamp,
  finished_at: Timestamp.nullable(),
}).meta({ id: "FleetCommand" });

const FleetCommandPage = FleetCommand.extend({
  commands: z.array(
    ListedCommand.extend({
      agent_name: z.string().nullable().meta({ description: "Null for a deleted agent." }),
      stdout: z.string().optional(),
      stderr: z.string().optional(),
      output_omitted: z.literal(true).optional().meta({
        description: "The output is larger than 8 KiB. Read the command itself.",
      }),
    }).meta({ id: "FleetMember" }),
  ),
  cursor: z.string().nullable().meta({
    description: "Where the next page begins; null at the end.",
  }),
}).meta({ id: "FleetCommandPage" });

const FleetParams = z.strictObject({
  id: Id.meta({ description: "The fleet command's id." }),
});

const Selector = {
  names: z.array(AgentRef).min(1).max(AGENTS_MAX).optional().meta({
    description: "These agents, by name or id.",
  }),
  labels: LabelSelector.optional(),
  all: z.literal(true).optional().meta({ description: "Every agent." }),
};

const StartBody = z.strictObject({
  ...Selector,
  command: CommandText,
  timeout: Timeout,
  parallel: z.int().min(1).max(PARALLEL_MAX).default(PARALLEL_DEFAULT).meta({
    description: "How many of the commands run at once.",
  }),
  stop_after_failures: z.int().min(1).max(AGENTS_MAX).optional().meta({
    description: "After so many commands failed, timed out or were lost, no further one starts.",
  }),
  alert_id: AlertId.optional(),
  wait: z.int().min(0).max(WAIT_SECONDS_MAX).default(0).meta({
    description: "Seconds to wait for the end of all; 0 responds at once.",
  }),
});

export const fleetCommandRoutes = [
  route({
    id: "fleet_commands.start",
    method: "POST",
    path: "/api/v1/commands",
    summary: "Start a command on many agents",
    description:
      "Takes exactly one of `names`, `labels` and `all`, for at most 1,000 agents. Each agent " +
      "gets a command of its own, which is judged, approved and audited like a single one. One " +
      "request for approval covers the held ones that need the same approvals, for exactly these " +
      "agents. Each further command counts as a request; one that a limit refuses has `failed`. " +
      "Responds at once, or after up to `wait` seconds.",
    access: { scope: "agents:write" },
    noStore: true,
    idempotencyKey: true,
    effect: "steps",
    audit: { byRule: "fleet_command_started, fleet_command_ended, and the events of each command" },
    body: StartBody,
    rules: { "body.names": SELECT_ONCE },
    success: { status: 202, body: FleetCommand },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
    tool: { name: "run_on_many", destructive: true },
    handle: async (work, { body }, relay) => {
      const { names, labels, all } = body;
      mustSelectOnce([names, labels, all]);
      const fleet = await startFleetCommand(work, relay, {
        selector: {
          ...(names && { names }),
          ...(labels && { labels }),
          ...(all && { all }),
        },
        command: body.command,
        timeoutMs: body.timeout * 1000,
        parallel: body.parallel,
        stopAfterFailures: body.stop_after_failures ?? null,
        alertId: body.alert_id,
      });
      const ended = relay.fleetCommands.whenEnded(fleet.id);
      if (body.wait > 0 && ended !== undefined) {
        await within(work.ports.clock, body.wait * 1000, ended);
      }
      return await showFleetCommand(work, fleet.id);
    },
  }),
  route({
    id: "fleet_commands.get",
    method: "GET",
    path: "/api/v1/commands/{id}",
    summary: "Get a fleet command's totals and a page of its commands",
    description:
      "The totals are those of this moment. While it runs, ask again, or watch the events of its " +
      "commands.",
    access: { scope: "agents:read" },
    effect: "read",
    params: FleetParams,
    query: z.strictObject({
      status: commaList(COMMAND_STATUSES, 200).optional().meta({
        description: "Commands with one of these statuses, separated by commas.",
      }),
      ended_since: Instant.optional().meta({
        description:
          "Commands that ended at this time or later; UTC unless a zone is given. To read only " +
          "what is new, send the last `finished_at` that you have read, less 2 s.",
      }),
      output: z.literal("true").optional().meta({
        description: "Show the output of each ended command, if it is at most 8 KiB.",
      }),
      limit: PageLimit,
      cursor: z.string().max(256).optional().meta({
        description: "The `cursor` of the previous response.",
      }),
    }),
    rules: { "query.cursor": "must be the `cursor` of a previous response" },
    success: { status: 200, body: FleetCommandPage },
    faults: ["NOT_FOUND"],
    tool: { name: "get_fleet_command", destructive: false },
    handle: (work, { params, query }, { commands }) => {
      const { output, ended_since: endedSinceMs, ...shown } = query;
      return getFleetCommand(work, commands, params.id, {
        ...shown,
        endedSinceMs,
        output: output === "true",
      });
    },
  }),
  route({
    id: "fleet_commands.cancel",
    method: "POST",
    path: "/api/v1/commands/{id}/cancel",
    summary: "Cancel a fleet command",
    description:
      "Commands that have not started do not start, held ones included; running ones are asked " +
      "to end. The response shows the state at once; read it again for the end.",
    access: { scope: "agents:write" },
    effect: "steps",
    audit: { byRule: "command_cancelled for each command, and fleet_command_ended" },
    params: FleetParams,
    body: z.strictObject({}),
    success: { status: 200, body: FleetCommand },
    faults: ["NOT_FOUND", "CONFLICT"],
    tool: { name: "cancel_fleet_command", destructive: true },
    handle: async (work, { params }) => {
      await cancelFleetCommand(work, params.id);
      return await showFleetCommand(work, params.id);
    },
  }),
];

/** @throws {Fault} VALIDATION_FAILED unless exactly one way to select agents was given */
function mustSelectOnce(given: readonly unknown[]): void {
  if (given.filter((one) => one !== undefined).length === 1) return;
  throw new Fault("VALIDATION_FAILED", `body.names: ${SELECT_ONCE}`, {
    issues: [{ path: "body.names", message: SELECT_ONCE }],
  });
}
