import { changeSession } from "../core/access/mcp_sessions.ts";
import { admit } from "./admit.ts";
import { callTool, toolNamed } from "./call_tool.ts";
import { complete } from "./completion.ts";
import {
  type Exchange,
  mustBeFirstPage,
  type Result,
  resultOf,
  withCacheHints,
} from "./exchange.ts";
import type { Era } from "./headers.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { LEVELS } from "./progress.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import { CODES, CURRENT, type Message, RpcError } from "./rpc.ts";
import { capabilitiesOf, INSTRUCTIONS } from "./server.ts";
import { initialize, subscribe, unsubscribe } from "./sessions.ts";
import { cancelTaskResult, getTaskResult, TASKS, updateTask } from "./tasks.ts";

/** A method of the protocol. */
export interface Method {
  readonly eras: readonly Era[];
  /** True when a caller may be nobody. */
  readonly anonymous?: true;
  /** True when it puts its use on record itself. */
  readonly recorded?: true;
  /** Refuses what can be refused before an answer is begun; null at once for who may. */
  readonly admit?: (exchange: Exchange) => Promise<void> | null;
  /** True when the answer is better as a stream, for who takes both. */
  readonly streams?: (exchange: Exchange) => boolean;
  readonly answer: (exchange: Exchange) => Result | Promise<Result>;
}

const ALL: readonly Era[] = ["modern", "legacy", "plain"];
const NOW: readonly Era[] = ["modern", "plain"];

/** Every method, by name. `subscriptions/listen` is answered by the endpoint: it has no end of its own. */
export const METHODS: Readonly<Record<string, Method>> = {
  "server/discover": { eras: NOW, anonymous: true, answer: discover },
  "initialize": { eras: ["legacy"], anonymous: true, answer: initialize },
  "ping": { eras: ["legacy", "plain"], anonymous: true, answer: () => ({ members: "" }) },
  "logging/setLevel": { eras: ["legacy"], answer: setLevel },
  "tools/list": { eras: ALL, anonymous: true, answer: listTools },
  "tools/call": {
    eras: ALL,
    anonymous: true,
    recorded: true,
    admit: admitCall,
    streams: wantsStream,
    answer: (exchange) => exchange.server.extension?.call(exchange) ?? callTool(exchange),
  },
  "resources/list": { eras: ALL, answer: listResources },
  "resources/templates/list": { eras: ALL, answer: listTemplates },
  "resources/read": { eras: ALL, recorded: true, answer: readResource },
  "resources/subscribe": { eras: ["legacy"], answer: subscribe },
  "resources/unsubscribe": { eras: ["legacy"], answer: unsubscribe },
  "prompts/list": { eras: ALL, answer: listPrompts },
  "prompts/get": { eras: ALL, answer: getPrompt },
  "completion/complete": { eras: ALL, answer: complete },
  "tasks/get": ofTask(getTaskResult),
  "tasks/update": ofTask(updateTask),
  "tasks/cancel": ofTask(cancelTaskResult),
};

/** The method of a request. @throws {RpcError} methodNotFound */
export function methodOf({ method, id }: Message, era: Era): Method {
  const known = Object.hasOwn(METHODS, method) ? METHODS[method]! : null;
  if (known?.eras.includes(era)) return known;
  const status = era === "legacy" ? 200 : 404;
  throw new RpcError(CODES.methodNotFound, "There is no such method.", { status, id });
}

function ofTask(answer: Method["answer"]): Method {
  return {
    eras: NOW,
    recorded: true,
    answer: (exchange) => exchange.server.extension?.task(exchange) ?? answer(exchange),
  };
}

function discover(exchange: Exchange): Result {
  const capabilities = { ...capabilitiesOf(exchange.server), extensions: { [TASKS]: {} } };
  const found = { supportedVersions: [CURRENT], capabilities, instructions: INSTRUCTIONS };
  const { members } = resultOf(found);
  return withCacheHints(exchange, members, { ttlMs: 3_600_000, scope: "public" });
}

function listTools(exchange: Exchange): Result {
  mustBeFirstPage(exchange);
  const { server, actor } = exchange;
  const own = server.tools.listJson(actor);
  const more = server.extension?.toolsJson();
  const list = more ? `${own.slice(0, -1)}${own === "[]" ? "" : ","}${more.slice(1)}` : own;
  const scope = actor.kind === "anonymous" ? "public" : "private";
  return withCacheHints(exchange, `"tools":${list}`, { ttlMs: 60_000, scope });
}

function admitCall(exchange: Exchange): Promise<void> | null {
  if (exchange.server.extension?.admit(exchange)) return null;
  return admit(exchange, toolNamed(exchange).route);
}

/** Who gave a token for progress wants to hear of it; a command may take long. */
function wantsStream({ params, server }: Exchange): boolean {
  if (server.extension?.knows(params.name)) return true;
  const token = (params._meta as { progressToken?: unknown } | undefined)?.progressToken;
  return token !== undefined || server.tools.get(String(params.name))?.bind !== undefined;
}

async function setLevel(exchange: Exchange): Promise<Result> {
  const { session, params } = exchange;
  const level = LEVELS.find((known) => known === params.level);
  if (level === undefined) {
    throw new RpcError(CODES.invalidParams, `\`level\` must be one of ${LEVELS.join(", ")}.`);
  }
  if (session !== null) {
    await changeSession(
      { app: exchange.relay, actor: exchange.actor },
      session.id,
      () => ({ log_level: level }),
    );
  }
  return { members: "" };
}
