import type { Relay } from "../core/relay.ts";
import type { Actor, RequestInfo } from "../core/identity/identity.ts";
import type { McpSessionRecord } from "../kv/records/mcp_session.ts";
import type { Route } from "../routes/call/route.ts";
import type { Id, Message, Params } from "./json_rpc.ts";
import type { Listeners } from "./listeners.ts";
import type { Rechecks } from "./rechecks.ts";
import type { Result } from "./result.ts";
import type { Era } from "./revision.ts";

/** Sends messages to a client whose response is a stream. */
export interface Sink {
  /** Sends a JSON-RPC message; false when it was not sent, because the client left or reads too slowly. */
  send(message: string): boolean;
  /** Runs `task` once if the client leaves before its answer. */
  onGone(task: () => void): void;
}

/** The sets of tools, of which the query of a client's address names one. */
export const TOOL_SETS = ["all", "common"] as const;
export type ToolSet = (typeof TOOL_SETS)[number];

/** One tool: a route under the name that clients call. */
export interface Tool {
  readonly name: string;
  /** True for a tool of the set `common`. */
  readonly common: boolean;
  /** The declaration; its method and path are those that audit rows show. */
  readonly route: Route;
  /** Its entry of `tools/list`. */
  jsonIn(set: ToolSet): string;
  /** The part of the input that each argument belongs to. */
  readonly places: ReadonlyMap<string, "params" | "query" | "body">;
  /** Replaces the route for one call, for tools that report progress. */
  readonly bind?: Bind;
}

export type Bind = (exchange: Exchange, route: Route) => Route;

/** Every tool, by name. */
export interface Toolbox {
  /** The tool that has this name, or had it in version 0.1.0. */
  get(name: string): Tool | undefined;
  /** The tools of a set that a caller may call, in order of their names: one text for all callers with the same rights. */
  listJson(actor: Actor, set: ToolSet): string;
}

/** A method of the protocol. */
export interface Method {
  readonly eras: readonly Era[];
  /** True for a method that anonymous callers may use. */
  readonly anonymous?: true;
  /** True for a method that records the use of a key itself. */
  readonly recorded?: true;
  /** Refuses a caller before the answer begins. Returns null instead of a promise for an authorized caller. */
  readonly admit?: (exchange: Exchange) => Promise<void> | null;
  /** True when a stream is the better answer for a client that accepts both. */
  readonly streams?: (exchange: Exchange) => boolean;
  readonly answer: (exchange: Exchange) => Result | Promise<Result>;
}

/** Methods by name. */
export type Methods = Readonly<Record<string, Method>>;

/** The protocol side of one relay. */
export interface Server {
  readonly relay: Relay;
  readonly tools: Toolbox;
  readonly methods: Methods;
  readonly identityJson: string;
  readonly listeners: Listeners;
  readonly rechecks: Rechecks;
  /** Cancels a call under way in a session, by session and request id. */
  readonly cancellations: Map<string, () => void>;
}

/** One request under way. */
export interface Exchange {
  readonly server: Server;
  readonly relay: Relay;
  readonly actor: Actor;
  readonly info: RequestInfo;
  readonly era: Era;
  readonly id: Id;
  readonly method: Message["method"];
  readonly params: Params;
  readonly headers: Headers;
  /** The tools that the client sees and may call. */
  readonly toolSet: ToolSet;
  /** The capabilities that the client declared. */
  readonly capabilities: Params;
  readonly session: McpSessionRecord | null;
  /** Null when the answer is one JSON text. */
  readonly sink: Sink | null;
  /** Authenticates the caller again. @throws {Fault} */
  readonly identifyAgain: () => Promise<Actor>;
}
