import { SealError } from "../core/codec/seal.ts";
import { can, canExtend, type Exchange, type Result, resultOf } from "./exchange.ts";
import { failedCall } from "./failed_call.ts";
import { digestOf } from "./idempotency.ts";
import { CODES, type Params, RpcError } from "./rpc.ts";
import {
  type CommandView,
  createTask,
  endedResult,
  isOpen,
  lookAt,
  TASKS,
  withdraw,
} from "./tasks.ts";
import type { Tool } from "./exchange.ts";
import { saysWithdraw, waitRequest } from "./wait.ts";

const STATE_CONTEXT = "mcp request state";

/** What a client carries from one round of a call to the next; it can neither read nor change it. */
interface State {
  readonly command: string;
  readonly actor: string;
  /** Of the tool and its arguments, the agent among them. */
  readonly digest: string;
}

/**
 * Answers a call whose command waits, for people most of the time: with a task for who knows tasks, with a
 * state to come back with for who can ask its user, and with an error that has the ids for all others.
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
    return askToWait(exchange, tool, args, view);
  }
  return failedCall({
    code: waits ? "APPROVAL_REQUIRED" : "STILL_RUNNING",
    message: waits
      ? `The shield holds this command back. ${view.shield_result.explanation} It runs once people ` +
        `have given approval ${view.approval_id}: look with get_command, and do not send it again.`
      : "The command has not ended. Look again with get_command.",
    details: {
      command_id: view.command_id,
      approval_id: view.approval_id,
      agent_id: view.agent_id,
      status: view.status,
    },
  }, exchange.info.id);
}

function askToWait(exchange: Exchange, tool: Tool, args: Params, view: CommandView): Result {
  const { relay, actor } = exchange;
  const state: State = {
    command: view.command_id,
    actor: actor.id,
    digest: digestOf(tool.route, args),
  };
  return resultOf({
    inputRequests: { approval: waitRequest(view) },
    requestState: relay.sealer.seal(JSON.stringify(state), STATE_CONTEXT),
  }, "input_required");
}

/**
 * Goes on with a call that a client comes back to.
 * @throws {RpcError} invalidParams for a state that was not given for this call
 */
export async function resumePending(exchange: Exchange, tool: Tool, args: Params): Promise<Result> {
  const { command } = openState(exchange, tool, args);
  let view = await lookAt(exchange, command);
  if (isOpen(view) && saysWithdraw(exchange.params.inputResponses)) {
    view = await withdraw(exchange, view);
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
  new RpcError(CODES.invalidParams, "`requestState` is not one that this call was given.");
