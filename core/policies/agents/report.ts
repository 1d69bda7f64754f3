import { agentStates } from "../../../kv/records/agent_state.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type Link, ownedAgent } from "../../agents/agents.ts";
import type { Reading } from "../../work/work.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";

/** Finds the link of an agent that is connected to this instance. */
export interface LinkDirectory {
  of(tenant: Tenant, agentId: string): Link | undefined;
}

/**
 * The state that an agent reports: asked for now when it is linked here, otherwise its last report.
 * @throws {Fault} AGENT_NOT_FOUND
 */
export async function reportOf(work: Reading, links: LinkDirectory, agentId: string) {
  const { db, actor: { tenant } } = work;
  await ownedAgent(work, agentId);
  const answered = await links.of(tenant, agentId)?.inspect() ?? null;
  const agent = await ownedAgent(work, agentId);
  const state = await db.get(agentStates, tenant, agentId);
  const reported_at = answered === null
    ? isoOrNull(state?.reported_at_ms ?? null)
    : iso(work.ports.clock.now());
  return { agent, answered, state, reported_at };
}
