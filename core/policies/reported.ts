import { agentStates } from "../../kv/records/agent_state.ts";
import { ownedAgent } from "../agents/manage.ts";
import type { Reading } from "../work/work.ts";
import { iso, isoOrNull } from "../codec/instant.ts";

/**
 * What an agent holds by its own word: asked of it now where it is linked here, else as it said last.
 * @throws {Fault} AGENT_NOT_FOUND
 */
export async function reportOf(work: Reading, agentId: string) {
  const { app, db, actor: { tenant } } = work;
  await ownedAgent(work, agentId);
  const answered = await app.links.of(tenant, agentId)?.inspect() ?? null;
  const agent = await ownedAgent(work, agentId);
  const state = await db.get(agentStates, tenant, agentId);
  const reported_at = answered === null
    ? isoOrNull(state?.reported_at_ms ?? null)
    : iso(app.ports.clock.now());
  return { agent, answered, state, reported_at };
}
