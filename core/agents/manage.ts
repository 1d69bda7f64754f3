import { type AgentRecord, agents, lastSeenMs } from "../../kv/records/agent.ts";
import { agentStates, canaryRuns } from "../../kv/records/agent_state.ts";
import { deletedAgents } from "../../kv/records/backup.ts";
import { sendMessage, type Work, type Writing } from "../work/work.ts";
import { capabilitiesOf } from "./capabilities.ts";
import { countAgent } from "./count.ts";
import { Fault } from "../fault/fault.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import type { Reader } from "../../kv/store/reader.ts";
import { listPage, pageOf, type Paging } from "../../kv/store/paging.ts";
import { iso, isoOrNull } from "../codec/codec.ts";
import { isOlder, VERSION } from "../protocol/protocol.ts";
import type { Links } from "./links/links.ts";
import { agentIdOf, freeName } from "./names.ts";

/** An agent as answers show it. */
export function showAgent(agent: AgentRecord) {
  return {
    id: agent.id,
    name: agent.name,
    display_name: agent.display_name,
    status: agent.status,
    reported_status: agent.reported_status,
    last_seen_at: isoOrNull(lastSeenMs(agent)),
    connected_at: isoOrNull(agent.connected_at_ms),
    version: agent.version,
    outdated: isOlder(agent.version, VERSION),
    platform: agent.platform,
    hostname: agent.hostname,
    program: agent.program?.form ?? null,
    capabilities: capabilitiesOf(agent),
    labels: agent.labels,
    reported_labels: agent.reported_labels,
    relay_labels: agent.relay_labels,
    policy_version: agent.policy_version,
    created_at: iso(agent.created_at_ms),
  };
}

/** The agents that a list shows: those that match every given field. */
export interface AgentFilter {
  readonly status?: AgentRecord["status"] | undefined;
  readonly name?: string | undefined;
  /** A part of the name or the host name, ignoring case. */
  readonly text?: string | undefined;
  readonly label?: { readonly key: string; readonly value: string } | undefined;
  readonly outdated?: boolean | undefined;
}

/** Agents that a search by text, label or version reads: as many as a list can page through. */
const SEARCHED_MAX = 10_000;

/** The caller's agents, in the order of their registration. */
export async function listAgents(
  { db, actor: { tenant } }: Work,
  { status, name, text, label, outdated, ...paging }: Paging & AgentFilter,
) {
  const by = status === undefined ? {} : { index: "status", prefix: [status] };
  if ([name, text, label, outdated].every((given) => given === undefined)) {
    const { items, pagination } = await listPage(db, agents, tenant, { ...paging, ...by });
    return { agents: items.map(showAgent), pagination };
  }
  const part = text?.toLowerCase();
  const all = name === undefined
    ? (await db.list(agents, tenant, { limit: SEARCHED_MAX, ...by })).items
    : await agentsNamed(db, tenant, name);
  const { items, pagination } = pageOf(
    all.filter((agent) =>
      (status === undefined || agent.status === status) &&
      (part === undefined || `${agent.name}\n${agent.hostname}`.toLowerCase().includes(part)) &&
      (label === undefined || agent.labels[label.key] === label.value) &&
      (outdated === undefined || isOlder(agent.version, VERSION) === outdated)
    ),
    paging,
  );
  return { agents: items.map(showAgent), pagination };
}

/** The agent with this name, if there is one. */
async function agentsNamed(db: Reader, tenant: Tenant, name: string): Promise<AgentRecord[]> {
  const agent = await db.get(agents, tenant, await agentIdOf(db, tenant, name));
  return agent?.name === name ? [agent] : [];
}

/** The caller's agent. @throws {Fault} AGENT_NOT_FOUND */
export async function ownedAgent({ db, actor }: Work, id: string): Promise<AgentRecord> {
  const agent = await db.get(agents, actor.tenant, id);
  if (agent === null) throw new Fault("AGENT_NOT_FOUND");
  return agent;
}

/** Deletes an agent; its link is closed after the commit. */
export async function deleteAgent(
  work: Writing,
  links: Pick<Links, "of">,
  id: string,
): Promise<AgentRecord> {
  const { actor: { tenant }, ports, signals, tx } = work;
  const agent = await ownedAgent(work, id);
  tx.delete(agents, tenant, id);
  await freeName(tx, tenant, agent.name, id);
  countAgent(tx, tenant, agent.status, null);
  tx.delete(agentStates, tenant, id);
  tx.delete(canaryRuns, tenant, id);
  tx.insert(deletedAgents, tenant, { id, deleted_at_ms: ports.clock.now() });
  tx.afterCommit(() => {
    links.of(tenant, id)?.close("deleted");
    signals.agentDeleted.send({ tenant, agentId: id });
  });
  return agent;
}

/** Orders an agent to restart. @throws {Fault} AGENT_NOT_FOUND, AGENT_OFFLINE */
export async function restartAgent(work: Writing, links: Pick<Links, "of" | "holder">, id: string) {
  const { actor: { tenant }, ports, tx } = work;
  const agent = await ownedAgent(work, id);
  const link = links.of(tenant, id), holder = links.holder(agent);
  if (holder !== null) sendMessage(ports, tx, holder, { kind: "restart", tenant, agent_id: id });
  else if (link !== undefined) tx.afterCommit(() => link.send({ type: "restart" }));
  else throw offline(agent);
  return showAgent(agent);
}

/** The fault of a command for an agent without a link. */
export const offline = (agent: AgentRecord, details: Readonly<Record<string, unknown>> = {}) =>
  new Fault("AGENT_OFFLINE", `The agent ${agent.name} is not connected. Start it and try again.`, {
    agent_id: agent.id,
    last_seen_at: isoOrNull(lastSeenMs(agent)),
    ...details,
  });
