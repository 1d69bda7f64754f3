import type { Relay } from "../core/relay.ts";
import { VERSION } from "../core/protocol/protocol.ts";
import type { Route } from "../routes/call/route.ts";
import type { Methods, Server } from "./exchange.ts";
import { binds, extraTools } from "./extra_tools.ts";
import { Listeners } from "./listeners.ts";
import { Rechecks } from "./rechecks.ts";
import { Tools } from "./tools.ts";

/** The server's name and version, as clients see them. */
export const IDENTITY = { name: "relay", title: "Relay", version: VERSION } as const;

/** The server's capabilities, the same in all revisions. Prompts are part of the program and never change. */
export const CAPABILITIES = {
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  prompts: {},
  completions: {},
} as const;

/** Instructions that a client may give its model. */
export const INSTRUCTIONS =
  "Relay runs commands on remote machines through agents. Find an agent with list_agents " +
  "and run a command with run_command. Relay inspects every command: it may refuse one, or " +
  "hold it until people approve it. Read a held command with get_command; do not send it " +
  "again.";

/** Builds the protocol side of a relay. */
export const makeServer = (
  relay: Relay,
  routes: readonly Route[],
  methods: Methods,
): Server => {
  const rechecks = new Rechecks(relay);
  const cancellations = new Map<string, () => void>();
  relay.signals.mcpCallCancelledElsewhere.on(({ call }) => cancellations.get(call)?.());
  return {
    relay,
    tools: new Tools([...routes, ...extraTools], binds),
    methods,
    identityJson: JSON.stringify(IDENTITY),
    listeners: new Listeners(relay, rechecks),
    rechecks,
    cancellations,
  };
};
