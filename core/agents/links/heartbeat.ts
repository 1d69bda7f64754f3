import { isWithin } from "../../../kv/store/clock.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import type { Stepping } from "../../work/work.ts";
import type { Actor } from "../../identity/identity.ts";
import { Fault } from "../../fault/fault.ts";
import { type LimitState, mustPass } from "../../access/access.ts";
import { iso } from "../../codec/codec.ts";

/** Limits the reports about one agent. */
interface ReportLimiter {
  takeForAgent(agentId: string, by: "itself" | "anybody"): LimitState | Promise<LimitState>;
}

/** How long a report with the agent's own credential stands against reports by others. */
const OWN_REPORT_MS = 5 * 60_000;

/**
 * Stores a report of an agent's health. Anybody may report; only a report by the agent's own credential counts
 * as contact. Neither changes the status, which the link alone decides.
 * @throws {Fault} AGENT_NOT_FOUND, RATE_LIMIT_EXCEEDED
 */
export async function reportHeartbeat(
  { actor, db, ports, store }: Stepping,
  limiter: ReportLimiter,
  { agent_id, status }: {
    agent_id: string;
    status: NonNullable<AgentRecord["reported_status"]>;
  },
) {
  const found = await db.lookup(agents, "id", [agent_id]);
  if (found === null) throw new Fault("AGENT_NOT_FOUND");
  const now = ports.clock.now();
  const by = isOwnCredential(actor, found.tenant, found.record) ? "itself" : "anybody";
  mustPass(await limiter.takeForAgent(agent_id, by), now);
  const verified = await store.transact(async (tx) => {
    const agent = await tx.get(agents, found.tenant, agent_id);
    if (agent === null) throw new Fault("AGENT_NOT_FOUND");
    const own = isOwnCredential(actor, found.tenant, agent);
    // A report by others does not replace one that the agent itself made shortly before.
    const isFresh = isWithin(agent.reported_at_ms ?? -Infinity, OWN_REPORT_MS, now);
    if (own || (!isFresh && agent.reported_status !== status)) {
      const reported_at_ms = own ? now : agent.reported_at_ms;
      tx.put(agents, found.tenant, { ...agent, reported_status: status, reported_at_ms });
    }
    return own;
  });
  return { agent_id, status, verified, received_at: iso(now) };
}

/** True for the key or the device that the agent registered with. */
const isOwnCredential = (
  { id, kind, tenant }: Actor,
  { org, space }: Tenant,
  { credential_id }: AgentRecord,
): boolean =>
  (kind === "api_key" || kind === "device") && id === credential_id && tenant.org === org &&
  tenant.space === space;
