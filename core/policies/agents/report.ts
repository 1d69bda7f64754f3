import { agentStates } from "../../../kv/records/agent_state.ts";
import { type Inquiries, ownedAgent } from "../../agents/agents.ts";
import type { Reading } from "../../work/work.ts";
import type { PolicyCache } from "../policy_cache.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";

/** The parts of the relay that read an agent's report. */
export interface ReportParts {
  readonly inquiries: Pick<Inquiries, "ask">;
  readonly policyCache: PolicyCache;
}

/**
 * The state that an agent reports: asked for now when it is linked, otherwise its last report.
 * @throws {Fault} AGENT_NOT_FOUND
 */
export async function reportOf(
  work: Reading,
  inquiries: ReportParts["inquiries"],
  agentId: string,
) {
  const { db, actor: { tenant } } = work;
  const reached = await inquiries.ask(tenant, await ownedAgent(work, agentId));
  const agent = await ownedAgent(work, agentId);
  const state = await db.get(agentStates, tenant, agentId);
  const reported_at = reached
    ? iso(work.ports.clock.now())
    : isoOrNull(state?.reported_at_ms ?? null);
  return { agent, reached, state, reported_at };
}
