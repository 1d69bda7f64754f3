import type { Relay } from "../core/start.ts";
import { VERSION } from "../core/work/work.ts";
import type { Route } from "../routes/call/route.ts";
import { binds, extraTools } from "./extra_tools.ts";
import type { Extension, Server } from "./exchange.ts";
import { Listeners } from "./listeners.ts";
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

/** Makes an extension of one relay's protocol side. */
export type Extend = (relay: Relay, listeners: Listeners) => Extension;

/** Puts the protocol side of a relay together. */
export function makeServer(relay: Relay, routes: readonly Route[], extend: Extend | null): Server {
  const listeners = new Listeners(relay);
  return {
    relay,
    tools: new Tools([...routes, ...extraTools], binds),
    identityJson: JSON.stringify(IDENTITY),
    listeners,
    asked: new Map(),
    cancellations: new Map(),
    extension: extend?.(relay, listeners) ?? null,
  };
}
