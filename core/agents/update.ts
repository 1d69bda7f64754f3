import { agents } from "../../kv/records/agent.ts";
import { sendMessage, type Stepping, type Writing } from "../work/work.ts";
import { changedLabels, labelsBy, sameLabels } from "./labels.ts";
import { emitUpdated } from "./emit_updated.ts";
import type { Links } from "./links/links.ts";
import { ownedAgent, showAgent } from "./manage.ts";
import { type Attempts, firstAttempt, giveName, takeName } from "./names.ts";

/** The fields of an agent that people may change; undefined ones stay. */
export interface AgentChange {
  readonly name?: string | undefined;
  /** Labels that the relay is to own; null removes one of them. The others stay. */
  readonly labels?: Readonly<Record<string, string | null>> | undefined;
}

/**
 * Renames an agent and changes the labels that belong to the relay. A name that another agent has gets a number.
 * Policies that the new labels select reach the agent after the commit.
 * @throws {Fault} AGENT_NOT_FOUND, VALIDATION_FAILED
 */
export async function updateAgent(
  work: Stepping,
  links: Pick<Links, "holder">,
  id: string,
  change: AgentChange,
) {
  const attempts = firstAttempt();
  return await work.store.transact(async (tx) => {
    work.recordUse(tx, 200);
    return await updateIn({ ...work, db: tx, tx }, links, id, change, attempts);
  });
}

async function updateIn(
  work: Writing,
  links: Pick<Links, "holder">,
  id: string,
  { name, labels = {} }: AgentChange,
  attempts: Attempts,
) {
  const { actor: { tenant }, ports, signals, store, tx } = work;
  const agent = await ownedAgent(work, id);
  const names = { store, tx, tenant, entropy: ports.entropy, attempts };
  const isRenamed = name !== undefined && name !== agent.name;
  const owned = changedLabels(agent.relay_labels, labels);
  const next = {
    ...agent,
    ...isRenamed && await takeName(names, name, id),
    ...labelsBy(agent.reported_labels, owned),
  };
  if (!emitUpdated(work, tx, tenant, agent, next)) return showAgent(agent);
  tx.put(agents, tenant, next);
  await giveName(tx, tenant, id, next.name, agent.name);
  if (sameLabels(agent.labels, next.labels)) return showAgent(next);
  const holder = links.holder(agent);
  if (holder !== null) sendMessage(ports, tx, holder, { kind: "relabelled", tenant, agent_id: id });
  tx.afterCommit(() => signals.agentRelabelled.send({ tenant, agentId: id }));
  return showAgent(next);
}
