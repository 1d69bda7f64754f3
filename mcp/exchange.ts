import type { Relay } from "../core/start.ts";
import type { Actor, RequestInfo } from "../core/work/work.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import { type Era, META_SERVER } from "./headers.ts";
import type { Route } from "../routes/call/route.ts";
import type { Listeners } from "./listeners.ts";
import { CODES, type Id, isObject, type Params, type Reply, RpcError } from "./rpc.ts";

/** The way to a client whose answer is a stream. */
export interface Sink {
  /** Sends a notification; false when the client has gone or does not keep up, and it was not sent. */
  notify(method: string, params: Params): boolean;
  /** Asks the client something; only clients with a session can be asked. */
  ask(method: string, params: Params): Promise<unknown>;
  /** Runs `task` once if the client goes away before its answer. */
  onGone(task: () => void): void;
}

/** One tool: a route, under the name that clients know it by. */
export interface Tool {
  readonly name: string;
  /** The declaration; method and path are those that audit rows show. */
  readonly route: Route;
  /** Its entry of `tools/list`. */
  readonly json: string;
  /** Where each argument goes. */
  readonly places: ReadonlyMap<string, "params" | "query" | "body">;
  /** Rebinds the route to one call, for tools that tell of their progress. */
  readonly bind?: Bind;
}

export type Bind = (exchange: Exchange, route: Route) => Route;

/** Every tool, by name. */
export interface Toolbox {
  get(name: string): Tool | undefined;
  /** What a caller may call, in order. */
  callable(actor: Actor): Tool[];
  /** The `tools` member of a list, the same text for all callers with the same rights. */
  listJson(actor: Actor): string;
}

/**
 * Tools, resources, prompts and tasks beside Relay's own, which anybody may use. The conformance suite
 * needs some on its target; a relay itself has none.
 */
export interface Extension {
  readonly resources: readonly unknown[];
  readonly templates: readonly unknown[];
  readonly prompts: readonly unknown[];
  /** The contents of a resource, or null for one that is not the extension's. */
  read(uri: string): unknown;
  /** A prompt, or null for one that is not the extension's. */
  prompt(exchange: Exchange, name: string, args: Readonly<Record<string, unknown>>): Result | null;
  /** True when a tool of this name is the extension's. */
  knows(name: unknown): boolean;
  /** The extension's tools, as a JSON array. */
  toolsJson(): string;
  /** True for a call of the extension's tools, once its headers are checked. @throws {RpcError} */
  admit(exchange: Exchange): boolean;
  /** The result of a tool call, or null for a tool that is not the extension's. */
  call(exchange: Exchange): Promise<Result> | null;
  /** The answer to a task method, or null for a task that is not the extension's. */
  task(exchange: Exchange): Result | null;
}

/** The protocol's side of one relay. */
export interface Server {
  readonly relay: Relay;
  readonly tools: Toolbox;
  readonly identityJson: string;
  readonly listeners: Listeners;
  /** Requests to clients that wait for their reply, by session and id. */
  readonly asked: Map<string, (reply: Reply) => void>;
  /** How the calls under way in sessions are ended, by session and id. */
  readonly cancellations: Map<string, () => void>;
  /** Null on every relay but a target of the conformance suite. */
  readonly extension: Extension | null;
}

/** One request under way. */
export interface Exchange {
  readonly server: Server;
  readonly relay: Relay;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly era: Era;
  readonly id: Id;
  readonly method: string;
  readonly params: Params;
  readonly headers: Headers;
  /** What the client said that it can do. */
  readonly capabilities: Params;
  readonly session: McpSessionRecord | null;
  /** Null when the answer is one JSON text. */
  readonly sink: Sink | null;
  /** Finds out again who asks. @throws {Fault} */
  readonly identifyAgain: () => Promise<Actor>;
}

/** What a method answers. */
export interface Result {
  /** The members of the result, as JSON without the braces. */
  readonly members: string;
  /** `complete` unless said. */
  readonly type?: "input_required" | "task";
  /** Goes into the result's `_meta`. */
  readonly meta?: Params;
}

/** A result of any members. */
export function resultOf(value: Params, type?: Result["type"]): Result {
  const members = JSON.stringify(value).slice(1, -1);
  return type === undefined ? { members } : { members, type };
}

/** What a tool answers, as structure and as the same in text. */
export function structured(value: unknown): Result {
  const text = JSON.stringify(value);
  const quoted = JSON.stringify(text);
  return { members: `"content":[{"type":"text","text":${quoted}}],"structuredContent":${text}` };
}

/** The whole result as its era has it. */
export function writeResult({ era, server }: Exchange, { members, type, meta }: Result): string {
  const separator = members === "" ? "" : ",";
  const more = meta && JSON.stringify(meta).slice(1, -1);
  if (era === "legacy") {
    return more === undefined ? `{${members}}` : `{${members}${separator}"_meta":{${more}}}`;
  }
  const own = `"_meta":{"${META_SERVER}":${server.identityJson}${more ? `,${more}` : ""}}`;
  return `{"resultType":"${type ?? "complete"}",${members}${separator}${own}}`;
}

/** Hints for caches, which only the current revision knows. */
export function withCacheHints(
  { era }: Exchange,
  members: string,
  { ttlMs, scope }: { readonly ttlMs: number; readonly scope: "public" | "private" },
): Result {
  if (era !== "modern") return { members };
  return { members: `${members},"ttlMs":${ttlMs},"cacheScope":"${scope}"` };
}

/** The `_meta` of the request. */
export const metaOf = ({ params }: Pick<Exchange, "params">): Params =>
  isObject(params._meta) ? params._meta : {};

/** True when the client said that it has a capability. */
export const can = ({ capabilities }: Exchange, name: string): boolean =>
  isObject(capabilities[name]);

/** True when it said so of an extension. */
export const canExtend = ({ capabilities }: Exchange, name: string): boolean =>
  isObject(capabilities.extensions) && isObject(capabilities.extensions[name]);

/** @throws {RpcError} missingCapability unless the client has it */
export function mustExtend(exchange: Exchange, name: string): void {
  if (!canExtend(exchange, name)) throw missingCapability({ extensions: { [name]: {} } });
}

export const missingCapability = (requiredCapabilities: Params): RpcError =>
  new RpcError(
    CODES.missingCapability,
    "The client did not declare a capability that this needs.",
    {
      data: { requiredCapabilities },
      status: 400,
    },
  );

/** A member of `params` that must be text. @throws {RpcError} invalidParams */
export function textOf({ params }: Pick<Exchange, "params">, name: string): string {
  const value = params[name];
  if (typeof value === "string") return value;
  throw new RpcError(CODES.invalidParams, `\`params.${name}\` must be a string.`);
}

/** Lists here have one page: a cursor is none that they gave. @throws {RpcError} invalidParams */
export function mustBeFirstPage({ params }: Pick<Exchange, "params">): void {
  if (params.cursor === undefined) return;
  throw new RpcError(CODES.invalidParams, "The cursor is not one that this list gave.");
}

/** A copy of what is known of a request, for an answer that outlives it. */
export const copyInfo = (info: RequestInfo): RequestInfo => ({
  id: info.id,
  address: info.address,
  idempotencyKey: info.idempotencyKey,
  lastEventId: info.lastEventId,
  ingestToken: info.ingestToken,
  telegramSecret: info.telegramSecret,
  gitHook: info.gitHook,
  cookie: (name) => info.cookie(name),
  forwarded: info.forwarded,
  prefetch: info.prefetch,
});
