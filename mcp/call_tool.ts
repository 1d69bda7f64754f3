import { Accepted } from "../core/accepted.ts";
import type { RequestInfo } from "../core/app.ts";
import { Fault } from "../core/fault.ts";
import { countCall } from "../core/mcp_sessions.ts";
import { call, deny, denyTestSpace, missingRights } from "../routes/_call.ts";
import { faultOf } from "../routes/_answer.ts";
import { copyInfo } from "../routes/_request.ts";
import type { Route } from "../routes/_route.ts";
import { answerPending, resumePending } from "./approvals.ts";
import { type Exchange, metaOf, type Result, structured, textOf } from "./exchange.ts";
import { once } from "./idempotency.ts";
import { CODES, isObject, type Params, RpcError } from "./rpc.ts";
import type { CommandView } from "./tasks.ts";
import { isClosedTo, mayCall, placeArguments, type Tool } from "./tools.ts";

/** The member of `_meta` that makes a call happen once, like the header of that purpose. */
export const META_IDEMPOTENCY = "relay/idempotencyKey";
/** The member of a result's `_meta` that tells a refusal to programs. */
const META_ERROR = "relay/error";

/** The tool that a request names. @throws {RpcError} invalidParams */
export function toolNamed(exchange: Exchange): Tool {
  const name = textOf(exchange, "name");
  const tool = exchange.server.tools.get(name);
  if (tool !== undefined) return tool;
  throw new RpcError(
    CODES.invalidParams,
    `There is no tool ${JSON.stringify(name.slice(0, 100))}.`,
  );
}

/**
 * Refuses callers that may not use a route, before anything is answered; null at once for who may.
 * @throws {Fault} MISSING_CREDENTIALS, INSUFFICIENT_SCOPES, FORBIDDEN
 */
export const admit = (exchange: Exchange, route: Route): Promise<void> | null =>
  mayCall(exchange.actor, route) ? null : turnAway(exchange, route);

async function turnAway({ app, actor, info }: Exchange, route: Route): Promise<never> {
  if (actor.kind === "anonymous") {
    throw new Fault("MISSING_CREDENTIALS", undefined, { required: scopesOf(route) });
  }
  if (isClosedTo(actor, route)) throw await denyTestSpace(app, route, actor, info);
  throw await deny(app, route, actor, info, missingRights(route, actor) ?? []);
}

/** The rights of which each would do. */
const scopesOf = ({ access }: Route): readonly string[] =>
  "scope" in access ? [access.scope].flat() : [];

/** Calls the tool that a request names. */
export async function callTool(exchange: Exchange): Promise<Result> {
  const tool = toolNamed(exchange);
  const { app, session, params } = exchange;
  if (session !== null) countCall(app, session.id);
  const args = argumentsOf(exchange);
  try {
    if (params.requestState !== undefined) return await resumePending(exchange, tool, args);
    const result = await runRoute(exchange, tool, args);
    if (!(result instanceof Accepted)) return contentOf(tool, result);
    return isCommandView(result.value)
      ? answerPending(exchange, tool, args, result.value)
      : contentOf(tool, result.value);
  } catch (error) {
    const fault = faultOf(error);
    if (fault === null || fault.code === "INSUFFICIENT_SCOPES") throw error;
    return failedCall(fault, exchange.info.id);
  }
}

const isCommandView = (value: unknown): value is CommandView =>
  isObject(value) && typeof value.command_id === "string";

/** Runs a tool's route: the same checks, limits and records as over HTTP. */
function runRoute(exchange: Exchange, tool: Tool, args: Params): Promise<unknown> {
  const { app, actor } = exchange;
  const placed = placeArguments(tool, args);
  const input = {
    params: placed.params,
    query: placed.query,
    body: () => placed.body,
    accept: "application/json",
  };
  const route = tool.bind?.(exchange, tool.route) ?? tool.route;
  if (route.effect === "read") return call(app, route, actor, exchange.info, input);
  const info = infoOf(exchange);
  const key = info.idempotencyKey;
  if (key === null) return call(app, route, actor, info, input);
  return once(
    { app, actor, info },
    route,
    key,
    args,
    (recorded) => call(app, recorded, actor, info, input),
  );
}

/** @throws {RpcError} invalidParams */
function argumentsOf({ params }: Exchange): Params {
  const args = params.arguments ?? {};
  if (isObject(args)) return args;
  throw new RpcError(CODES.invalidParams, "`params.arguments` must be an object.");
}

/** What is known of the request, with the key that `_meta` may hold. @throws {Fault} VALIDATION_FAILED */
function infoOf(exchange: Exchange): RequestInfo {
  const key = metaOf(exchange)[META_IDEMPOTENCY];
  if (key === undefined) return exchange.info;
  if (typeof key === "string") return { ...copyInfo(exchange.info), idempotencyKey: key };
  throw new Fault("VALIDATION_FAILED", "An idempotency key is a string.", {
    issues: [{ path: `_meta.${META_IDEMPOTENCY}`, message: "must be a string" }],
  });
}

const contentOf = ({ route }: Tool, value: unknown): Result =>
  "body" in route.success
    ? structured(value)
    : { members: '"content":[{"type":"text","text":"Done."}]' };

/** A refusal as a tool tells it, so that the model can read it and do better. */
export function failedCall(
  { code, message, details }: { code: string; message: string; details: Params },
  requestId: string,
): Result {
  const error = { code, message, details: { ...inArguments(details), request_id: requestId } };
  const text = JSON.stringify(JSON.stringify({ error }));
  return {
    members: `"content":[{"type":"text","text":${text}}],"isError":true`,
    meta: { [META_ERROR]: error },
  };
}

/** Tools have arguments where HTTP has paths, queries and bodies. */
function inArguments(details: Params): Params {
  if (!Array.isArray(details.issues)) return details;
  const issues = (details.issues as { path: string; message: string }[]).map((issue) => ({
    ...issue,
    path: issue.path.replace(/^(params|query|body)\b/, "arguments"),
  }));
  return { ...details, issues };
}
