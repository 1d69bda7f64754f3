import {
  agentName,
  agentNames,
  type AgentRecord,
  agents,
  freeNumber,
  isAgentName,
  numberedName,
} from "../records/agent.ts";
import { devices } from "../records/device.ts";
import { rowKey, type Tenant } from "../store/collection.ts";
import type { Store } from "../store/store.ts";
import { everyTenant } from "./every_tenant.ts";

/**
 * Gives every agent a name that fits and that no other agent of its space has, and separates the labels of its
 * pairing code from those that it reports. Names that fit stay with the agent that registered first. A second run
 * changes nothing.
 */
export async function nameAgents({ kv }: Store): Promise<void> {
  for await (const tenant of everyTenant(kv)) {
    const found: AgentRecord[] = [];
    for await (const { value } of kv.list({ prefix: [tenant.org, tenant.space, agents.name] })) {
      found.push(agents.schema.parse(value));
    }
    for (const [id, name] of await namesOf(found)) await store(kv, tenant, id, name);
  }
}

/** The name of each agent, by id. The agents come in the order of their registration. */
async function namesOf(found: readonly AgentRecord[]): Promise<Map<string, string>> {
  const names = new Map<string, string>(), taken = new Set<string>();
  const give = (id: string, name: string) => {
    names.set(id, name);
    taken.add(name);
  };
  for (const { id, name } of found) if (isAgentName(name) && !taken.has(name)) give(id, name);
  for (const { id, name } of found) {
    if (names.has(id)) continue;
    const wanted = agentName(name);
    const number = await freeNumber(wanted, (text) => taken.has(text));
    give(id, numberedName(wanted, number));
  }
  return names;
}

/** The record of a name that an agent has. */
const nameOf = (id: string, agent_id: string) => ({
  id,
  agent_id,
  device_id: null,
  expires_at_ms: null,
});

/** Stores the record and that of its name in one commit; a record that changed meanwhile is read again. */
async function store(kv: Deno.Kv, tenant: Tenant, id: string, name: string): Promise<void> {
  const key = rowKey(agents, tenant, id);
  for (;;) {
    const row = await kv.get(key);
    if (row.value === null) return;
    const agent = withOwnLabels(agents.schema.parse(row.value), await codeLabels(kv, tenant, row));
    const display_name = agent.name === name ? agent.display_name : agent.name;
    const change = kv.atomic().check(row)
      .set(key, { ...agent, name, display_name })
      .set(rowKey(agentNames, tenant, name), nameOf(name, id));
    if ((await change.commit()).ok) return;
  }
}

/** The labels that the pairing code of an agent's device has; null when the agent's record has them already. */
async function codeLabels(
  kv: Deno.Kv,
  tenant: Tenant,
  { value }: Deno.KvEntryMaybe<unknown>,
): Promise<AgentRecord["labels"] | null> {
  const stored = value as Partial<AgentRecord>;
  if (stored.relay_labels !== undefined) return null;
  const device = await kv.get(rowKey(devices, tenant, stored.credential_id!));
  return device.value === null ? {} : devices.schema.parse(device.value).labels;
}

/** The record with its labels by their owner, where an earlier version stored only those in force. */
function withOwnLabels(agent: AgentRecord, ofCode: AgentRecord["labels"] | null): AgentRecord {
  if (ofCode === null) return agent;
  const reported = Object.entries(agent.labels).filter(([key]) => !Object.hasOwn(ofCode, key));
  return { ...agent, reported_labels: Object.fromEntries(reported), relay_labels: ofCode };
}
