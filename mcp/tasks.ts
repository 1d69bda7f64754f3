import { z } from "zod";
import { cancelCommand, getOwnCommand, type showCommand } from "../core/agents/agents.ts";
import { Fault } from "../core/fault/fault.ts";
import { idsOf } from "../core/identity/identity.ts";
import { call } from "../routes/call/call.ts";
import { Command } from "../routes/commands.ts";
import { route } from "../routes/call/route.ts";
import { Id } from "../routes/schemas/schemas.ts";
import { approvalQuestion, withdraws } from "./approval_question.ts";
import type { Exchange } from "./exchange.ts";
import { CODES, RpcError } from "./json_rpc.ts";
import { can, mustExtend, textOf } from "./params.ts";
import { failedCall, type Result, resultOf, structured } from "./result.ts";
import { authorize, mayCall } from "./tools.ts";
import { DAY_MS } from "../kv/store/durations.ts";

/** The name of the protocol's extension for tasks. */
export const TASKS = "io.modelcontextprotocol/tasks";
const POLL_MS = 2_000;

/** A command as responses show it. A task is a command, and as durable. */
export type CommandView = Awaited<ReturnType<typeof showCommand>>;

const TaskParams = z.strictObject({ task_id: Id });
const shared = {
  params: TaskParams,
  success: { status: 200, body: Command },
  faults: ["NOT_FOUND"],
} as const;

const getTask = route({
  ...shared,
  id: "tasks.get",
  method: "POST",
  path: "/mcp#tasks/get",
  summary: "Read one of your tasks",
  access: { scope: ["agents:write", "agents:read"] },
  effect: "read",
  handle: (work, { params }, { commands }) => getOwnCommand(work, commands, params.task_id),
});

const cancelTask = route({
  ...shared,
  id: "tasks.cancel",
  method: "POST",
  path: "/mcp#tasks/cancel",
  summary: "Cancel one of your tasks",
  access: { scope: "agents:write" },
  effect: "steps",
  audit: { byRule: "command_cancelled, or approval_resolved for a task that awaited approval" },
  handle: async (work, { params }, relay) => {
    const { agent_id } = await getOwnCommand(work, relay.commands, params.task_id);
    return await cancelCommand(work, relay, agent_id, params.task_id);
  },
});

const inputOf = (id: string) => ({
  params: { task_id: id },
  query: {},
  body: () => ({}),
  accept: "application/json",
});

/** The command behind a task. @throws {Fault} NOT_FOUND, INSUFFICIENT_SCOPES */
export async function readCommand(exchange: Exchange, id: string): Promise<CommandView> {
  const { relay, actor, info } = exchange;
  await authorize(exchange, getTask);
  return await call(relay, getTask, actor, info, inputOf(id)) as CommandView;
}

/** Cancels the command behind a task, and returns it. */
export async function cancel(exchange: Exchange, { command_id }: CommandView) {
  const { relay, actor, info } = exchange;
  await authorize(exchange, cancelTask);
  return await call(relay, cancelTask, actor, info, inputOf(command_id)) as CommandView;
}

/** True for a command that may still run. */
export const isOpen = ({ status }: CommandView): boolean =>
  status === "pending_approval" || status === "queued" || status === "running";

/** The answer to a call that continues as a task. Its command is recorded already. */
export const createTask = (exchange: Exchange, view: CommandView): Result =>
  resultOf(taskOf(exchange, view), "task");

/** `tasks/get`. */
export async function getTaskResult(exchange: Exchange): Promise<Result> {
  return stateOf(exchange, await viewOf(exchange));
}

/** A task with its question or its result, if it has one. */
function stateOf(exchange: Exchange, view: CommandView): Result {
  const task = taskOf(exchange, view);
  if (task.status === "input_required") {
    return resultOf({ ...task, inputRequests: { approval: approvalQuestion(exchange, view) } });
  }
  if (task.status !== "completed") return resultOf(task);
  return { members: `${resultOf(task).members},"result":{${endedMembers(view, exchange)}}` };
}

/** The state of a task as JSON, for a notification; null when the caller has no such task. */
export async function taskStateOrNull(exchange: Exchange, id: string): Promise<string | null> {
  const { relay, actor } = exchange;
  if (!mayCall(actor, getTask)) return null;
  try {
    const view = await getOwnCommand(
      { actor, db: relay.store, store: relay.store },
      relay.commands,
      id,
    );
    return `{${stateOf(exchange, view).members}}`;
  } catch (error) {
    if (error instanceof Fault && error.code === "NOT_FOUND") return null;
    throw error;
  }
}

/** `tasks/update`: takes the answer of the client's user. */
export async function updateTask(exchange: Exchange): Promise<Result> {
  const view = await viewOf(exchange);
  const { inputResponses } = exchange.params;
  if (view.status === "pending_approval" && withdraws(inputResponses)) {
    await cancel(exchange, view);
  }
  return { members: "" };
}

/** `tasks/cancel`: an ended task stays as it is. */
export async function cancelTaskResult(exchange: Exchange): Promise<Result> {
  const view = await viewOf(exchange);
  try {
    if (isOpen(view)) await cancel(exchange, view);
  } catch (error) {
    const hasEnded = error instanceof Fault && error.code === "CONFLICT";
    if (!hasEnded) throw error;
  }
  return { members: "" };
}

async function viewOf(exchange: Exchange): Promise<CommandView> {
  mustExtend(exchange, TASKS);
  try {
    return await readCommand(exchange, textOf(exchange, "taskId"));
  } catch (error) {
    const missing = error instanceof Fault &&
      (error.code === "NOT_FOUND" || error.code === "VALIDATION_FAILED");
    if (!missing) throw error;
    throw new RpcError(CODES.invalidParams, "You have no such task.", {
      fault: "NOT_FOUND",
    });
  }
}

function taskOf(exchange: Exchange, view: CommandView) {
  const asked = view.status === "pending_approval" && can(exchange, "elicitation");
  return {
    taskId: view.command_id,
    status: asked ? "input_required" : isOpen(view) ? "working" : endOf(view),
    statusMessage: view.status === "pending_approval"
      ? `The command awaits approval ${view.approval_id}.`
      : `The command is ${view.status}.`,
    createdAt: view.created_at,
    lastUpdatedAt: view.finished_at ?? view.started_at ?? view.created_at,
    ttlMs: exchange.relay.config().retention_days.commands * DAY_MS,
    pollIntervalMs: POLL_MS,
  };
}

const endOf = ({ status }: CommandView) => status === "cancelled" ? "cancelled" : "completed";

/** The result of the call, had it waited for the command's end. */
export function endedResult(view: CommandView, { info }: Pick<Exchange, "info">): Result {
  const ran = view.status === "succeeded" || (view.status === "failed" && view.reason === null);
  if (ran) return structured(view);
  const { command_id, status, reason, stdout, stderr, truncated } = view;
  const message = `The command is ${status}${reason === null ? "" : `: ${reason}`}.`;
  const details = { command_id, status, stdout, stderr, truncated };
  return failedCall({ code: CODE_OF[status] ?? "COMMAND_BLOCKED", message, details }, idsOf(info));
}

const CODE_OF: Readonly<Record<string, string>> = {
  lost: "COMMAND_LOST",
  timed_out: "COMMAND_TIMEOUT",
  failed: "UNAVAILABLE",
  cancelled: "CONFLICT",
};

const endedMembers = (view: CommandView, exchange: Exchange) => {
  const { members, meta } = endedResult(view, exchange);
  return meta === undefined ? members : `${members},"_meta":${JSON.stringify(meta)}`;
};
