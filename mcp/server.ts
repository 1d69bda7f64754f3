import { type App, VERSION } from "../core/work/work.ts";
import type { Route } from "../routes/call/route.ts";
import { binds, extraTools } from "./extra_tools.ts";
import type { Exchange, Result } from "./exchange.ts";
import { Listeners } from "./listeners.ts";
import type { Reply } from "./rpc.ts";
import { Tools } from "./tools.ts";

/** What the server calls itself. */
export const IDENTITY = { name: "relay", title: "Relay", version: VERSION } as const;

/** What the server can do, the same in all revisions. */
export const capabilitiesOf = ({ extension }: Pick<Server, "extension">) => ({
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  // Prompts are part of the program and never change, except for the suite.
  prompts: extension === null ? {} : { listChanged: true },
  completions: {},
});

/** What a client may tell its model about the server. */
export const INSTRUCTIONS =
  "Relay runs commands on remote machines through agents. Find an agent with list_agents, run a " +
  "command with run_command. Commands are inspected: one may be refused, or wait until people approve " +
  "it; then look with get_command and do not send it again.";

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

/** Makes an extension of one relay's protocol side. */
export type Extend = (app: App, listeners: Listeners) => Extension;

/** The protocol's side of one relay. */
export interface Server {
  readonly app: App;
  readonly tools: Tools;
  readonly identityJson: string;
  readonly listeners: Listeners;
  /** Requests to clients that wait for their reply, by session and id. */
  readonly asked: Map<string, (reply: Reply) => void>;
  /** How the calls under way in sessions are ended, by session and id. */
  readonly cancellations: Map<string, () => void>;
  /** Null on every relay but a target of the conformance suite. */
  readonly extension: Extension | null;
}

/** Puts the protocol side of a relay together. */
export function makeServer(app: App, routes: readonly Route[], extend: Extend | null): Server {
  const listeners = new Listeners(app);
  return {
    app,
    tools: new Tools([...routes, ...extraTools], binds),
    identityJson: JSON.stringify(IDENTITY),
    listeners,
    asked: new Map(),
    cancellations: new Map(),
    extension: extend?.(app, listeners) ?? null,
  };
}
