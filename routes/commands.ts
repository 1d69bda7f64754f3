import { z } from "zod";
import {
  cancelCommand,
  getCommand,
  runCommand,
  showCommand,
  startCommand,
} from "../core/agents/agents.ts";
import { Fault } from "../core/fault/fault.ts";
import { ShieldResult } from "../core/shield/shield.ts";
import { within } from "../core/ports/ports.ts";
import { COMMAND_STATUSES } from "../kv/records/command.ts";
import { AgentParams } from "./agents.ts";
import { route } from "./call/route.ts";
import { AgentRef, AlertId, Id, Timestamp, wholeNumber } from "./schemas/schemas.ts";

/** The longest timeout of a command. */
const TIMEOUT_SECONDS_MAX = 600;

/** Limits a command to one value of the store. Longer scripts belong in a file on the agent. */
const COMMAND_CHARS_MAX = 16 * 1024;

const TIMEOUT = {
  description: "Seconds that the command may run; Relay then ends it.",
};

/** The text of a command. */
export const CommandText = z.string().min(1).max(COMMAND_CHARS_MAX)
  .refine(
    (text) => !text.includes("\0") && text.isWellFormed(),
    "must not hold NUL or unpaired surrogates",
  )
  .meta({
    description: "A command line for the agent's shell.",
    examples: ["uname -a"],
    pattern: "^[^\\u0000]*$",
  });

/** The timeout of a command in a body. */
export const Timeout = z.int().min(1).max(TIMEOUT_SECONDS_MAX).default(60).meta(TIMEOUT);

/** The status of a command. */
export const CommandStatus = z.enum(COMMAND_STATUSES).meta({ id: "CommandStatus" });

/** A command in responses. */
export const Command = z.object({
  command_id: z.string(),
  agent_id: z.string(),
  command: z.string(),
  status: CommandStatus,
  approval_id: z.string().nullable().meta({
    description: "The id of the blocked process that awaits a decision.",
  }),
  parent_id: z.string().optional().meta({
    description: "The fleet command that it belongs to.",
  }),
  alert_id: z.string().optional().meta({ description: "The alert that it answers." }),
  thread: z.string().optional().meta({ description: "The alert whose story it belongs to." }),
  exit_code: z.int().nullable(),
  signal: z.string().nullable(),
  stdout: z.string(),
  stderr: z.string(),
  truncated: z.boolean(),
  output_unavailable: z.literal(true).optional().meta({
    description:
      "Present when the instance that runs the command did not answer: `stdout` and `stderr` are " +
      "empty because the output so far is not known. Ask again.",
  }),
  reason: z.string().nullable().meta({ description: "Why there is no result." }),
  duration_ms: z.number().nullable(),
  shield_result: ShieldResult,
  created_at: Timestamp,
  started_at: Timestamp.nullable(),
  finished_at: Timestamp.nullable(),
}).meta({ id: "Command" });

/** The path of one command. */
export const CommandParams = z.strictObject({
  id: AgentRef,
  command_id: Id.meta({ description: "The command's id." }),
});

export const commandRoutes = [
  route({
    id: "commands.exec",
    method: "GET",
    path: "/api/exec/{agent_id}",
    summary: "Run a command and wait for its result",
    description:
      "The command runs at most once. It continues if the caller disconnects; cancel ends it. " +
      "A request repeated with the same Idempotency-Key returns the first response.",
    access: { scope: "agents:write" },
    noStore: true,
    idempotencyKey: true,
    effect: "steps",
    audit: {
      byRule: "command_executed, command_denied, command_timeout or command_failed, at its end",
    },
    params: z.strictObject({ agent_id: AgentRef }),
    agent: "agent_id",
    query: z.strictObject({
      command: CommandText,
      timeout: wholeNumber(1, TIMEOUT_SECONDS_MAX).prefault(60).meta(TIMEOUT),
      alert_id: AlertId.optional(),
    }),
    success: { status: 200, body: Command },
    accepted: "The command awaits approval. Read it again later, or wait for `approval_resolved`.",
    faults: [
      "AGENT_NOT_FOUND",
      "NOT_FOUND",
      "COMMAND_BLOCKED",
      "AGENT_OFFLINE",
      "FORBIDDEN",
      "CONFLICT",
      "UNAVAILABLE",
      "COMMAND_LOST",
      "COMMAND_TIMEOUT",
    ],
    tool: {
      name: "run_command",
      destructive: true,
      common: true,
      description:
        "The command runs at most once. One that is held for approval runs when people " +
        "have approved it: read it with get_command, and do not send it again.",
    },
    handle: (work, { params, query }, relay) => {
      refusePrefetch(work);
      const { command, timeout, alert_id } = query;
      return runCommand(work, relay, {
        agentId: params.agent_id,
        command,
        timeoutMs: timeout * 1000,
        alertId: alert_id,
      });
    },
  }),
  route({
    id: "commands.start",
    method: "POST",
    path: "/api/v1/agents/{id}/commands",
    summary: "Start a command",
    description: "Responds at once, or after up to `wait` seconds.",
    access: { scope: "agents:write" },
    noStore: true,
    idempotencyKey: true,
    effect: "steps",
    audit: {
      byRule: "command_executed, command_denied, command_timeout or command_failed, at its end",
    },
    params: AgentParams,
    agent: "id",
    body: z.strictObject({
      command: CommandText,
      timeout: Timeout,
      alert_id: AlertId.optional(),
      wait: z.int().min(0).max(60).default(0)
        .meta({ description: "Seconds to wait for the command's end; 0 responds at once." }),
    }),
    success: { status: 202, body: Command },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "COMMAND_BLOCKED", "AGENT_OFFLINE", "CONFLICT"],
    handle: async (work, { params, body }, relay) => {
      const request = {
        agentId: params.id,
        command: body.command,
        timeoutMs: body.timeout * 1000,
        alertId: body.alert_id,
      };
      const { record, done } = await startCommand(work, relay, request);
      done?.catch(() => {});
      const ended = body.wait > 0 && done !== null
        ? await within(work.ports.clock, body.wait * 1000, done)
        : null;
      return await showCommand(work.store, work.actor.tenant, ended ?? record);
    },
  }),
  route({
    id: "commands.get",
    method: "GET",
    path: "/api/v1/agents/{id}/commands/{command_id}",
    summary: "Get a command's state and output",
    description:
      "While the command runs, `stdout`, `stderr` and `truncated` hold its output so far.",
    access: { scope: "agents:read" },
    effect: "read",
    params: CommandParams,
    agent: "id",
    success: { status: 200, body: Command },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND"],
    tool: { name: "get_command", destructive: false, common: true },
    handle: (work, { params }, relay) => getCommand(work, relay, params.id, params.command_id),
  }),
  route({
    id: "commands.cancel",
    method: "POST",
    path: "/api/v1/agents/{id}/commands/{command_id}/cancel",
    summary: "Cancel a running command",
    description: "Ends the command's whole process group.",
    access: { scope: "agents:write" },
    effect: "steps",
    audit: { byRule: "command_cancelled" },
    params: CommandParams,
    agent: "id",
    body: z.strictObject({}),
    success: { status: 200, body: Command },
    faults: ["AGENT_NOT_FOUND", "NOT_FOUND", "CONFLICT"],
    tool: { name: "cancel_command", destructive: true, common: true },
    handle: (work, { params }, relay) => cancelCommand(work, relay, params.id, params.command_id),
  }),
];

/** Browsers fetch links ahead of a click, which must not run a command. */
function refusePrefetch(
  { request }: { readonly request: { readonly prefetch: boolean } },
): void {
  if (!request.prefetch) return;
  throw new Fault("FORBIDDEN", "Relay does not run commands for prefetch requests.");
}
