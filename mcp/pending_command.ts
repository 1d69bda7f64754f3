import { idsOf } from "../core/identity/identity.ts";
import { SealError } from "../core/codec/codec.ts";
import { digestOf } from "../routes/call/once.ts";
import { approvalQuestion, approvalUrl, withdraws } from "./approval_question.ts";
import type { Exchange, Tool } from "./exchange.ts";
import { CODES, type Params, RpcError } from "./json_rpc.ts";
import { can, canExtend } from "./params.ts";
import { failedCall, type Result, resultOf } from "./result.ts";
import {
  cancel,
  type CommandView,
  createTask,
  endedResult,
  isOpen,
  readCommand,
  TASKS,
} from "./tasks.ts";

const STATE_CONTEXT = "mcp request state";

/** The state that a client carries between the rounds of a call, sealed. */
interface State {
  readonly command: string;
  readonly actor: string;
  /** Digest of the tool and its arguments. */
  readonly digest: string;
}

/**
 * Answers a call whose command has not ended, in most cases because it waits for approval. A client that
 * supports tasks gets a task, one that can ask its user gets a question, and others get an error with the ids.
 */
export function answerPending(
  exchange: Exchange,
  tool: Tool,
  args: Params,
  view: CommandView,
): Result {
  if (exchange.era !== "legacy" && canExtend(exchange, TASKS)) return createTask(exchange, view);
  const waits = view.status === "pending_approval";
  if (waits && exchange.era === "modern" && can(exchange, "elicitation")) {
    return askUser(exchange, tool, args, view);
  }
  return failedCall({
    code: waits ? "APPROVAL_REQUIRED" : "STILL_RUNNING",
    message: waits
      ? `The shield is holding this command back. ${view.shield_result.explanation} It runs once ` +
        `people have approved it at ${
          approvalUrl(exchange, view.approval_id!)
        } . Tell them, read ` +
        "it with get_command, and do not send it again."
      : "The command has not ended. Read it again with get_command.",
    details: {
      command_id: view.command_id,
      approval_id: view.approval_id,
      ...(waits && { approval_url: approvalUrl(exchange, view.approval_id!) }),
      agent_id: view.agent_id,
      status: view.status,
    },
  }, idsOf(exchange.info));
}

function askUser(exchange: Exchange, tool: Tool, args: Params, view: CommandView): Result {
  const { relay, actor } = exchange;
  const state: State = {
    command: view.command_id,
    actor: actor.id,
    digest: digestOf(tool.route, args),
  };
  return resultOf({
    inputRequests: { approval: approvalQuestion(exchange, view) },
    requestState: relay.sealer.seal(JSON.stringify(state), STATE_CONTEXT),
  }, "input_required");
}

/**
 * Continues a call with the state of its last round.
 * @throws {RpcError} invalidParams for a state of another call
 */
export async function resumePending(exchange: Exchange, tool: Tool, args: Params): Promise<Result> {
  const { command } = openState(exchange, tool, args);
  let view = await readCommand(exchange, command);
  if (isOpen(view) && withdraws(exchange.params.inputResponses)) {
    view = await cancel(exchange, view);
  }
  return isOpen(view) ? answerPending(exchange, tool, args, view) : endedResult(view, exchange);
}

function openState({ relay, actor, params }: Exchange, tool: Tool, args: Params): State {
  const { requestState } = params;
  if (typeof requestState !== "string") throw refusedState();
  let state: State;
  try {
    state = JSON.parse(relay.sealer.open(requestState, STATE_CONTEXT));
  } catch (error) {
    if (error instanceof SealError) throw refusedState();
    throw error;
  }
  if (state.actor === actor.id && state.digest === digestOf(tool.route, args)) return state;
  throw refusedState();
}

const refusedState = () =>
  new RpcError(CODES.invalidParams, "`requestState` belongs to another call.");
