import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import { agentIdOf } from "../names.ts";
import { Fault } from "../../fault/fault.ts";

/** The most agents of one fleet command. */
export const AGENTS_MAX = 1_000;
const BATCH = 500;

/** Which agents a fleet command is for. Exactly one of these is given. */
export interface Selector {
  /** Names or ids. */
  readonly names?: readonly string[] | undefined;
  /** Agents that have all of these labels. */
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly all?: true | undefined;
}

/**
 * The agents that a selector names, by name.
 * @throws {Fault} AGENT_NOT_FOUND for a name of no agent and when none matches, VALIDATION_FAILED for too many
 */
export async function selectAgents(
  db: Reader,
  tenant: Tenant,
  { names, labels = {} }: Selector,
): Promise<AgentRecord[]> {
  const found = names === undefined
    ? await matching(db, tenant, labels)
    : await named(db, tenant, names);
  if (found.length === 0) {
    throw new Fault("AGENT_NOT_FOUND", "No agent matches the selection.");
  }
  return found.sort((a, b) => a.name < b.name ? -1 : 1);
}

async function named(db: Reader, tenant: Tenant, names: readonly string[]) {
  const found = new Map<string, AgentRecord>();
  for (const name of names) {
    const agent = await db.get(agents, tenant, await agentIdOf(db, tenant, name));
    if (agent === null) {
      throw new Fault("AGENT_NOT_FOUND", `There is no agent ${JSON.stringify(name)}.`, { name });
    }
    found.set(agent.id, agent);
  }
  return [...found.values()];
}

async function matching(
  db: Reader,
  tenant: Tenant,
  labels: Readonly<Record<string, string>>,
): Promise<AgentRecord[]> {
  const wanted = Object.entries(labels);
  const found: AgentRecord[] = [];
  for await (const agent of everyListed(db, agents, tenant, { limit: BATCH })) {
    if (!wanted.every(([key, value]) => agent.labels[key] === value)) continue;
    if (found.length === AGENTS_MAX) {
      throw new Fault("VALIDATION_FAILED", `More than ${AGENTS_MAX} agents match.`, {
        issues: [{ path: "body", message: `selects more than ${AGENTS_MAX} agents` }],
      });
    }
    found.push(agent);
  }
  return found;
}
