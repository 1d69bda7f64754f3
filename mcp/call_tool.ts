import { Accepted } from "../core/identity/identity.ts";
import { copyInfo, idsOf, type RequestInfo } from "../core/identity/identity.ts";
import { Fault } from "../core/fault/fault.ts";
import { call } from "../routes/call/call.ts";
import { faultOf } from "../routes/call/fault_of.ts";
import { callOnce } from "../routes/call/once.ts";
import { recordUse } from "../routes/call/records.ts";
import type { Exchange, Tool } from "./exchange.ts";
import { CODES, isObject, type Params, RpcError } from "./json_rpc.ts";
import { metaOf, textOf } from "./params.ts";
import { answerPending, resumePending } from "./pending_command.ts";
import { failedCall, type Result, structured } from "./result.ts";
import type { CommandView } from "./tasks.ts";
import { isIn, placeArguments } from "./tools.ts";

/** The member of `_meta` that holds an idempotency key, like the header Idempotency-Key. */
export const META_IDEMPOTENCY = "relay/idempotencyKey";

/** The tool that a request names. @throws {RpcError} invalidParams */
export function toolNamed(exchange: Exchange): Tool {
  const name = textOf(exchange, "name");
  const { server, toolSet } = exchange;
  const tool = server.tools.get(name);
  if (tool !== undefined && isIn(tool, toolSet)) return tool;
  const where = tool === undefined
    ? "."
    : ` among the common ones. Leave \`?tools=${toolSet}\` out of the address.`;
  throw new RpcError(
    CODES.invalidParams,
    `There is no tool ${JSON.stringify(name.slice(0, 100))}${where}`,
  );
}

/** Calls the tool that a request names. */
export async function callTool(exchange: Exchange): Promise<Result> {
  const tool = toolNamed(exchange);
  const { relay, session, params } = exchange;
  if (session !== null) relay.mcpSessions.countCall(session.id);
  const args = argumentsOf(exchange);
  const span = exchange.info.trace?.child("mcp tool", { "gen_ai.tool.name": tool.name });
  try {
    if (params.requestState !== undefined) return await resumePending(exchange, tool, args);
    await mustKnowArguments(exchange, tool, args);
    const result = await runRoute(exchange, tool, args);
    const pending = result instanceof Accepted;
    relay.metrics.toolCall(tool.name, pending ? "pending" : "ok");
    if (!pending) return contentOf(tool, result);
    return isCommandView(result.value)
      ? answerPending(exchange, tool, args, result.value)
      : contentOf(tool, result.value);
  } catch (error) {
    const fault = faultOf(error);
    span?.set({ "error.type": fault?.code ?? "INTERNAL_ERROR" });
    // A continued call was counted when it began.
    if (params.requestState === undefined) {
      relay.metrics.toolCall(tool.name, fault?.code ?? "INTERNAL_ERROR");
    }
    if (fault === null || fault.code === "INSUFFICIENT_SCOPES") throw error;
    return failedCall(fault, idsOf(exchange.info));
  } finally {
    span?.end();
  }
}

const isCommandView = (value: unknown): value is CommandView =>
  isObject(value) && typeof value.command_id === "string";

/**
 * Refuses an unknown argument with a list of the known ones, before any other check.
 * @throws {Fault} VALIDATION_FAILED
 */
async function mustKnowArguments(
  { relay, actor, info }: Exchange,
  { route, places }: Tool,
  args: Params,
): Promise<void> {
  for (const name in args) {
    if (places.has(name)) continue;
    const known = [...places.keys()].join(", ") || "none";
    const message = `there is no ${JSON.stringify(name.slice(0, 100))}; known here: ${known}`;
    await recordUse(relay, route, actor, info, 400);
    throw new Fault("VALIDATION_FAILED", `arguments: ${message}`, {
      issues: [{ path: "arguments", message }],
    });
  }
}

/** Runs a tool's route by the same call path as over HTTP. */
function runRoute(exchange: Exchange, tool: Tool, args: Params): Promise<unknown> {
  const { relay, actor } = exchange;
  const placed = placeArguments(tool, args);
  const input = {
    params: placed.params,
    query: placed.query,
    body: () => placed.body,
    accept: "application/json",
  };
  const route = tool.bind?.(exchange, tool.route) ?? tool.route;
  if (route.effect === "read") return call(relay, route, actor, exchange.info, input);
  const info = infoOf(exchange);
  const key = info.idempotencyKey;
  if (key === null) return call(relay, route, actor, info, input);
  return callOnce(args, { relay, route, actor, request: info, input, key });
}

/** @throws {RpcError} invalidParams */
function argumentsOf({ params }: Exchange): Params {
  const args = params.arguments ?? {};
  if (isObject(args)) return args;
  throw new RpcError(CODES.invalidParams, "`params.arguments` must be an object.");
}

/** The request's values, with the key that `_meta` may hold. @throws {Fault} VALIDATION_FAILED */
function infoOf(exchange: Exchange): RequestInfo {
  const key = metaOf(exchange)[META_IDEMPOTENCY];
  if (key === undefined) return exchange.info;
  if (typeof key === "string") return { ...copyInfo(exchange.info), idempotencyKey: key };
  throw new Fault("VALIDATION_FAILED", "The idempotency key must be a string.", {
    issues: [{ path: `_meta.${META_IDEMPOTENCY}`, message: "must be a string" }],
  });
}

const contentOf = ({ route }: Tool, value: unknown): Result =>
  "body" in route.success
    ? structured(value)
    : { members: '"content":[{"type":"text","text":"Done."}]' };
