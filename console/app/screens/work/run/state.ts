import { computed, effect, signal } from "@preact/signals";
import { type Agent, call, type Command, type FleetCommand } from "../../../api.ts";
import { space } from "../../../space.ts";
import { go, stillHere } from "../../../router.ts";
import { me } from "../../../session.ts";
import { NOBODY, type Target } from "./target.ts";

/** A command that was started on this page. */
export type Started =
  | {
    readonly key: number;
    readonly target: Target;
    readonly command: Command;
    readonly fleet: null;
  }
  | {
    readonly key: number;
    readonly target: Target;
    readonly command: null;
    readonly fleet: FleetCommand;
  };

const DEFAULTS = { timeout: 60, parallel: 20, stopAfter: 0 };

/* What was typed and started, in memory only: it outlives a visit to another screen, and ends with the page. */
export const draft = signal("");
export const target = signal<Target>(NOBODY);
export const started = signal<readonly Started[]>([]);
export const options = signal(DEFAULTS);

/** The most rows of one answer. */
const PAGE = 200;
/** The most that a page follows; older ones are on their own pages. */
const STARTED_MAX = 10;
let lastKey = 0;

const whose = computed(() => `${me.value?.user.id} ${space.value}`);
effect(() => {
  void whose.value;
  draft.value = "";
  target.value = NOBODY;
  started.value = [];
  options.value = DEFAULTS;
});

/** Starts a command on one agent, or on many. @throws {RelayError} */
export async function start(text: string, on: Target): Promise<void> {
  const { timeout, parallel, stopAfter } = options.value;
  const by = whose.value;
  const add = (one: Started) => {
    // It is not shown to another person, or in another space, who came meanwhile.
    if (whose.value === by) started.value = [one, ...started.value].slice(0, STARTED_MAX);
  };
  const [first, second] = on.kind === "agents" ? on.agents : [];
  if (first !== undefined && second === undefined) {
    const command = await call("commands.start", {
      params: { id: first.id },
      body: { command: text, timeout },
    });
    return add({ key: ++lastKey, target: on, command, fleet: null });
  }
  const fleet = await call("fleet_commands.start", {
    body: {
      command: text,
      timeout,
      parallel,
      ...stopAfter > 0 && { stop_after_failures: stopAfter },
      ...selectorOf(on),
    },
  });
  add({ key: ++lastKey, target: on, command: null, fleet });
}

function selectorOf(of: Target) {
  if (of.kind === "agents") return { names: of.agents.map(({ id }) => id) };
  return of.kind === "labels" ? { labels: of.labels } : { all: true as const };
}

/** Opens the form with a command for these agents, unless the viewer has gone elsewhere while they were read. */
async function openWith(text: string, read: () => Promise<readonly Agent[]>): Promise<void> {
  const isStillHere = stillHere();
  const agents = await read();
  if (!isStillHere()) return;
  draft.value = text;
  target.value = { kind: "agents", agents };
  go("/run");
}

/** Opens the form with a command for this agent. */
export const runAgain = (text: string, agentId: string): Promise<void> =>
  openWith(text, async () => [await call("agents.get", { params: { id: agentId } })]);

/** Opens the form with a command for the agents of a fleet command that are still there. */
export const runAgainOnFleet = (id: string, text: string): Promise<void> =>
  openWith(text, () => agentsOfFleet(id));

async function agentsOfFleet(id: string): Promise<readonly Agent[]> {
  const ids = new Set<string>();
  let cursor: string | undefined;
  do {
    const page = await call("fleet_commands.get", {
      params: { id },
      query: { limit: PAGE, cursor },
    });
    for (const { agent_id } of page.commands) ids.add(agent_id);
    cursor = page.cursor ?? undefined;
  } while (cursor !== undefined);
  const agents: Agent[] = [];
  for (let offset = 0; agents.length < ids.size; offset += PAGE) {
    const page = await call("agents.list", { query: { limit: PAGE, offset } });
    agents.push(...page.agents.filter((agent) => ids.has(agent.id)));
    if (!page.pagination.has_more) break;
  }
  return agents;
}
