import type { Tenant } from "../../../kv/store/collection.ts";
import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import { heldVersion, type Link } from "../../agents/agents.ts";
import type { Context } from "../../context/context.ts";
import { canonicalJson } from "../../codec/codec.ts";
import { type Background, nextTurn } from "../../ports/ports.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { NO_POLICY_VERSION } from "../../protocol/protocol.ts";
import type { PolicyCache } from "../policy_cache.ts";
import { policySetOf } from "../../../kv/records/gitops.ts";

/** Links that are served before other work gets its turn: each costs a signature. */
const SLICE = 50;

/** The parts of the relay from which an agent's policies are read. */
interface PolicySource extends Pick<Context, "store"> {
  readonly policyCache: PolicyCache;
}

/** Sends agents that are linked here the policies that concern them now. Never fails. */
export function pushPolicies(
  parts: PolicySource & { readonly background: Background },
  links: readonly Link[],
): void {
  parts.background.run("sending policies to agents", async () => {
    for (const [at, link] of links.entries()) {
      if (at % SLICE === SLICE - 1) await nextTurn();
      await sendPolicies(parts, link);
    }
  });
}

async function sendPolicies({ store, policyCache }: PolicySource, link: Link): Promise<void> {
  const { agent: linked, tenant } = link;
  if (linked === null) return;
  const read = async () => {
    const [agent, set] = await Promise.all([
      store.get(agents, tenant, linked.id),
      policySetOf(store, tenant),
    ]);
    return agent && { set, labels: agent.labels, key: canonicalJson([set.version, agent.labels]) };
  };
  for (let now = await read(); now !== null;) {
    const policies = await policyCache.forAgent(tenant, now.set, now.labels);
    // Newer policies may have been sent meanwhile, and older ones must not replace them.
    const then = now.key;
    now = await read();
    if (now?.key === then) return link.sendPolicies(policies);
  }
}

/** Sends an agent the policies in force again after a restore put earlier ones back. */
export async function resendPolicies(parts: PolicySource, link: Link): Promise<void> {
  const state = await link.inspect();
  if (state === null) return;
  link.holdsPolicies(state.policy_version ?? NO_POLICY_VERSION);
  await sendPolicies(parts, link);
}

/** Records which policies an agent has confirmed. Never fails. */
export async function notePolicyHeld(
  { store, ports, signals }: Pick<Context, "store" | "ports" | "signals">,
  tenant: Tenant,
  { id, link }: Pick<AgentRecord, "id" | "link">,
  version: string,
): Promise<void> {
  try {
    await store.transact(async (tx) => {
      const agent = await tx.get(agents, tenant, id);
      const held = heldVersion(version);
      if (agent === null || agent.link !== link || agent.policy_version === held) return;
      tx.put(agents, tenant, { ...agent, policy_version: held });
      emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
        type: "policy_confirmed",
        resource: { type: "agent", id },
        details: { name: agent.name, policy_version: held, previous_version: agent.policy_version },
      });
    });
  } catch (error) {
    ports.log.error("an agent's policies could not be recorded", { error: String(error) });
  }
}
