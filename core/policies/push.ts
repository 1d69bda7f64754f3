import type { Tenant } from "../../kv/store/collection.ts";
import { type AgentRecord, agents } from "../../kv/records/agent.ts";
import type { Link } from "../agents/link.ts";
import { heldVersion } from "../agents/register.ts";
import type { App } from "../work/work.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { nextTurn } from "../ports/turn.ts";
import { NO_POLICY_VERSION, policySetOf } from "./book.ts";

/** Links that are told before others get their turn: each costs a signature. */
const SLICE = 50;

/** Tells agents that are linked here the policies that concern them now; never fails. */
export function pushPolicies(app: App, links: readonly Link[]): void {
  app.background.run("sending policies to agents", () => tellAll(app, links));
}

async function tellAll(app: App, links: readonly Link[]): Promise<void> {
  for (const [at, link] of links.entries()) {
    if (at % SLICE === SLICE - 1) await nextTurn();
    await tell(app, link);
  }
}

async function tell({ store, policyBook }: App, link: Link): Promise<void> {
  const { agent, tenant } = link;
  if (agent === null) return;
  for (;;) {
    const set = await policySetOf(store, tenant);
    const policies = await policyBook.forAgent(tenant, set, agent.labels);
    // Policies that changed meanwhile were perhaps told already, and must not be replaced by older ones.
    if ((await policySetOf(store, tenant)).version !== set.version) continue;
    return link.sendPolicies(policies);
  }
}

/** Has an agent hold what is in force again, after a restore brought earlier policies back. */
export async function holdPolicies(app: App, link: Link): Promise<void> {
  const state = await link.inspect();
  if (state === null) return;
  link.holdsPolicies(state.policy_version ?? NO_POLICY_VERSION);
  await tell(app, link);
}

/** Puts on record which policies an agent holds; never fails. */
export async function notePolicyHeld(
  app: App,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  version: string,
): Promise<void> {
  try {
    await app.store.transact(async (tx) => {
      const agent = await tx.get(agents, tenant, id);
      const held = heldVersion(version);
      if (agent === null || agent.link !== link || agent.policy_version === held) return;
      tx.put(agents, tenant, { ...agent, policy_version: held });
      emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
        type: "policy_confirmed",
        resource: { type: "agent", id },
        details: { name: agent.name, policy_version: held, previous_version: agent.policy_version },
      });
    });
  } catch (error) {
    app.ports.log.error("an agent's policies could not be recorded", { error: String(error) });
  }
}
