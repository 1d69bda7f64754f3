import { canaryRuns } from "../../../kv/records/agent_state.ts";
import { verdictKeys } from "../../../kv/records/verdict_key.ts";
import { tenantKey } from "../../../kv/store/collection.ts";
import { heldVersion, modeFor, policiesFor, shieldInForce } from "../../agents/agents.ts";
import type { Reading } from "../../work/work.ts";
import { iso } from "../../codec/codec.ts";
import { reportOf, type ReportParts } from "./report.ts";

/** How the shield guards an agent now. @throws {Fault} AGENT_NOT_FOUND */
export async function getGuard(
  work: Reading,
  { inquiries, policyCache }: ReportParts,
  agentId: string,
) {
  const { db, actor: { tenant } } = work;
  const { agent, state, reported_at } = await reportOf(work, inquiries, agentId);
  const shield = await shieldInForce(db, tenant);
  const merged = await policiesFor(policyCache, tenant, shield, agent.labels);
  const sent = await policyCache.forAgent(tenant, shield.policies, agent.labels);
  const applied = heldVersion(sent.version);
  const verdicts = state?.verdicts ?? null;
  const key = await db.get(verdictKeys, tenant, tenantKey(tenant));
  const canary = await lastCanary(work, agentId);
  return {
    agent_id: agentId,
    status: agent.status,
    mode: modeFor(shield, merged, agentId),
    policy: {
      version: shield.version,
      applied,
      confirmed: agent.policy_version,
      reported: heldVersion(state?.policy_version ?? undefined),
      in_sync: applied === agent.policy_version,
    },
    last_canary: canary && {
      at: iso(canary.at_ms),
      by: canary.by,
      status: canary.status,
      failed: canary.failed,
      through_agent: canary.id === agentId,
    },
    verdict_check: {
      state: verdicts === null
        ? "unknown" as const
        : verdicts.refused > 0
        ? "refusing" as const
        : "verifying" as const,
      verified: verdicts?.verified ?? null,
      refused: verdicts?.refused ?? null,
      last_refusal: verdicts?.last_refusal ?? null,
      verdict_key: key?.public_key ?? null,
      reported_at,
    },
  };
}

/** The newer of the agent's last canary run and the organization's. */
async function lastCanary({ db, actor: { tenant } }: Reading, agentId: string) {
  const own = await db.get(canaryRuns, tenant, agentId);
  const general = await db.get(canaryRuns, tenant, "shield");
  if (own === null) return general;
  return general !== null && general.at_ms > own.at_ms ? general : own;
}
