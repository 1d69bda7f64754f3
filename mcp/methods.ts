import { callTool, toolNamed } from "./call_tool.ts";
import { complete } from "./completion.ts";
import type { Exchange, Method, Methods } from "./exchange.ts";
import { CODES, CURRENT, type Message, RpcError } from "./json_rpc.ts";
import { mustBeFirstPage } from "./params.ts";
import { LEVELS } from "./progress.ts";
import { getPrompt, listPrompts } from "./prompts.ts";
import { listResources, listTemplates, readResource } from "./resources.ts";
import { type Result, resultOf, withCacheHints } from "./result.ts";
import type { Era } from "./revision.ts";
import { CAPABILITIES, INSTRUCTIONS } from "./server.ts";
import { initialize, subscribe, unsubscribe } from "./sessions.ts";
import { authorize } from "./tools.ts";
import { cancelTaskResult, getTaskResult, TASKS, updateTask } from "./tasks.ts";

const ALL: readonly Era[] = ["modern", "legacy", "plain"];
const NOW: readonly Era[] = ["modern", "plain"];

/** Every method of a relay. The transport answers `subscriptions/listen`, which has no result of its own. */
export const METHODS: Methods = {
  "server/discover": { eras: NOW, anonymous: true, answer: discover },
  "initialize": { eras: ["legacy"], anonymous: true, answer: initialize },
  "ping": { eras: ["legacy", "plain"], anonymous: true, answer: () => ({ members: "" }) },
  "logging/setLevel": { eras: ["legacy"], answer: setLevel },
  "tools/list": { eras: ALL, anonymous: true, answer: listTools },
  "tools/call": {
    eras: ALL,
    anonymous: true,
    recorded: true,
    admit: (exchange) => authorize(exchange, toolNamed(exchange).route),
    streams: wantsStream,
    answer: callTool,
  },
  "resources/list": { eras: ALL, answer: listResources },
  "resources/templates/list": { eras: ALL, answer: listTemplates },
  "resources/read": { eras: ALL, recorded: true, answer: readResource },
  "resources/subscribe": { eras: ["legacy"], answer: subscribe },
  "resources/unsubscribe": { eras: ["legacy"], answer: unsubscribe },
  "prompts/list": { eras: ALL, answer: listPrompts },
  "prompts/get": { eras: ALL, answer: getPrompt },
  "completion/complete": { eras: ALL, answer: complete },
  "tasks/get": { eras: NOW, recorded: true, answer: getTaskResult },
  "tasks/update": { eras: NOW, recorded: true, answer: updateTask },
  "tasks/cancel": { eras: NOW, recorded: true, answer: cancelTaskResult },
};

/** The method of a request. @throws {RpcError} methodNotFound */
export function methodOf(methods: Methods, { method, id }: Message, era: Era): Method {
  const known = Object.hasOwn(methods, method) ? methods[method]! : null;
  if (known?.eras.includes(era)) return known;
  const status = era === "legacy" ? 200 : 404;
  throw new RpcError(CODES.methodNotFound, "There is no such method.", { status, id });
}

function discover(exchange: Exchange): Result {
  const capabilities = { ...CAPABILITIES, extensions: { [TASKS]: {} } };
  const found = { supportedVersions: [CURRENT], capabilities, instructions: INSTRUCTIONS };
  const { members } = resultOf(found);
  return withCacheHints(exchange, members, { ttlMs: 3_600_000, scope: "public" });
}

function listTools(exchange: Exchange): Result {
  mustBeFirstPage(exchange);
  const { server, actor, toolSet } = exchange;
  const scope = actor.kind === "anonymous" ? "public" : "private";
  const members = `"tools":${server.tools.listJson(actor, toolSet)}`;
  return withCacheHints(exchange, members, { ttlMs: 60_000, scope });
}

/** A client with a progress token expects notifications, and so does one that runs a command. */
function wantsStream({ params, server }: Exchange): boolean {
  const token = (params._meta as { progressToken?: unknown } | undefined)?.progressToken;
  return token !== undefined || server.tools.get(String(params.name))?.bind !== undefined;
}

async function setLevel({ relay, actor, session, params }: Exchange): Promise<Result> {
  const level = LEVELS.find((known) => known === params.level);
  if (level === undefined) {
    throw new RpcError(CODES.invalidParams, `\`level\` must be one of ${LEVELS.join(", ")}.`);
  }
  if (session !== null) {
    await relay.mcpSessions.change(actor, session.id, () => ({ log_level: level }));
  }
  return { members: "" };
}
