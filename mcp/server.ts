import { type App, VERSION } from "../core/app.ts";
import type { Route } from "../routes/_route.ts";
import { binds, extraTools } from "./extra_tools.ts";
import { Fixtures } from "./fixtures/fixtures.ts";
import { Listeners } from "./listeners.ts";
import type { Reply } from "./rpc.ts";
import { Tools } from "./tools.ts";

/** What the server calls itself. */
export const IDENTITY = { name: "relay", title: "Relay", version: VERSION } as const;

/** What the server can do, the same in all revisions. */
export const capabilitiesOf = ({ fixtures }: Pick<Server, "fixtures">) => ({
  tools: { listChanged: true },
  resources: { subscribe: true, listChanged: true },
  // Prompts are part of the program and never change, except for the suite.
  prompts: fixtures === null ? {} : { listChanged: true },
  completions: {},
});

/** What a client may tell its model about the server. */
export const INSTRUCTIONS =
  "Relay runs commands on remote machines through agents. Find an agent with list_agents, run a " +
  "command with run_command. Commands are inspected: one may be refused, or wait until people approve " +
  "it; then look with get_command and do not send it again.";

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
  /** Only on a target of the conformance suite. */
  readonly fixtures: Fixtures | null;
}

/** Puts the server together; `withFixtures` adds what the conformance suite looks for. */
export function makeServer(app: App, routes: readonly Route[], withFixtures: boolean): Server {
  const listeners = new Listeners(app);
  return {
    app,
    tools: new Tools([...routes, ...extraTools], binds),
    identityJson: JSON.stringify(IDENTITY),
    listeners,
    asked: new Map(),
    cancellations: new Map(),
    fixtures: withFixtures ? new Fixtures(app, listeners) : null,
  };
}
