import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import {
  type AgentUpgradeRecord,
  agentUpgrades,
  type UpgradeRecord,
  upgrades,
} from "../../../kv/records/backup.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Links } from "../../agents/agents.ts";
import { emit, RELAY_ACTOR } from "../../events/events.ts";
import { sendMessage } from "../../work/work.ts";
import type { ExecutionParts } from "../backups/execute.ts";
import { startable } from "./stages.ts";

/** The parts of the relay that move an upgrade on. */
export interface UpgradeParts extends Pick<ExecutionParts, "store" | "ports" | "signals"> {
  readonly links: Pick<Links, "holder">;
  readonly transfers: { begin(tenant: Tenant, agentId: string): void };
  readonly instance: string;
}

/**
 * Starts one more agent of an upgrade if it may, or ends the upgrade after the last. One commit starts one agent, because
 * a database server checks few keys at once. Writes the record, and returns whether another step may follow.
 */
export async function step(
  parts: UpgradeParts,
  tx: Tx,
  tenant: Tenant,
  upgrade: UpgradeRecord,
): Promise<{ readonly upgrade: UpgradeRecord; readonly more: boolean }> {
  const { version, agent_ids, started, succeeded, failed, stop_after: stopAfter } = upgrade;
  const total = agent_ids.length;
  if (startable({ total, started, succeeded, failed, stopAfter }) > 0) {
    const isThere = await startJob(parts, tx, tenant, upgrade, agent_ids[started]!);
    const counts = { started: started + 1, failed: failed + (isThere ? 0 : 1) };
    return { upgrade: tx.put(upgrades, tenant, { ...upgrade, ...counts }), more: true };
  }
  if (succeeded + failed < started) {
    return { upgrade: tx.put(upgrades, tenant, upgrade), more: false };
  }
  const left = total - started;
  const status = left === 0 ? "complete" : "stopped";
  emit({ ...parts, actor: RELAY_ACTOR }, tx, tenant, {
    type: "upgrade_ended",
    resource: { type: "upgrade", id: upgrade.id },
    details: { version, status, upgraded: succeeded, failed, left },
  });
  const finished_at_ms = parts.ports.clock.now();
  return { upgrade: tx.put(upgrades, tenant, { ...upgrade, status, finished_at_ms }), more: false };
}

/** Takes all steps that an upgrade can take now. A crash between two of them leaves the rest to the sweep. */
export async function continueUpgrade(parts: UpgradeParts, tenant: Tenant, id: string) {
  for (let more = true; more;) {
    more = await parts.store.transact(async (tx) => {
      const upgrade = await tx.get(upgrades, tenant, id);
      return upgrade?.status === "running" && (await step(parts, tx, tenant, upgrade)).more;
    });
  }
}

/** Starts the job of one agent at the instance of its link. False for an agent that was deleted. */
async function startJob(
  { ports, links, transfers, instance }: UpgradeParts,
  tx: Tx,
  tenant: Tenant,
  { id, version, created_by }: UpgradeRecord,
  agentId: string,
): Promise<boolean> {
  const agent = await tx.get(agents, tenant, agentId);
  if (agent === null) return false;
  tx.insert(agentUpgrades, tenant, {
    id: ports.entropy.id("upj"),
    agent_id: agentId,
    name: agent.name,
    upgrade_id: id,
    status: "running",
    attempt: 0,
    instance,
    error: null,
    version,
    previous_version: agent.version,
    sha256: null,
    sent_link: null,
    created_by,
    created_at_ms: ports.clock.now(),
    finished_at_ms: null,
  });
  const holder = links.holder(agent);
  if (holder === null) tx.afterCommit(() => transfers.begin(tenant, agentId));
  else sendMessage(ports, tx, holder, { kind: "transfer", tenant, agent_id: agentId });
  return true;
}

/** Ends the upgrade of one agent, as failed if there is an `error`, and continues with the next ones. */
export async function endAgentUpgrade(
  parts: UpgradeParts,
  tenant: Tenant,
  ended: AgentUpgradeRecord,
  error: string | null,
): Promise<void> {
  await parts.store.transact(async (tx) => {
    const job = await tx.get(agentUpgrades, tenant, ended.id);
    if (job?.status !== "running" || job.attempt !== ended.attempt) return;
    await recordEnd(parts, tx, tenant, job, error);
  });
  await continueUpgrade(parts, tenant, ended.upgrade_id);
}

/** Makes a completed upgrade a failed one, when its program fails to start later and the agent has given it up. */
export async function recordGivenUp(
  parts: UpgradeParts,
  tenant: Tenant,
  agent: AgentRecord,
): Promise<void> {
  const failed = agent.program?.failed ?? null;
  if (failed === null) return;
  const upgradeId = await parts.store.transact(async (tx) => {
    const job = await tx.get(agentUpgrades, tenant, failed.job_id);
    if (job?.status !== "complete" || job.agent_id !== agent.id) return null;
    await recordEnd(parts, tx, tenant, job, failed.message);
    return job.upgrade_id;
  });
  if (upgradeId !== null) await continueUpgrade(parts, tenant, upgradeId);
}

async function recordEnd(
  { ports, signals }: UpgradeParts,
  tx: Tx,
  tenant: Tenant,
  job: AgentUpgradeRecord,
  error: string | null,
): Promise<void> {
  const agent = await tx.get(agents, tenant, job.agent_id);
  const upgrade = await tx.get(upgrades, tenant, job.upgrade_id);
  const status = error === null ? "complete" : "failed";
  const finished_at_ms = ports.clock.now();
  tx.put(agentUpgrades, tenant, { ...job, status, error, finished_at_ms });
  const resource = { type: "agent", id: job.agent_id } as const;
  const { upgrade_id, previous_version, sha256, created_by: user } = job;
  const by = { ports, signals, actor: RELAY_ACTOR };
  const common = { name: agent?.name ?? job.name, upgrade_id, user };
  if (error === null) {
    const version = agent?.version ?? job.version;
    const details = { ...common, version, previous_version, sha256 };
    emit(by, tx, tenant, { type: "agent_upgraded", resource, details });
  } else {
    const details = { ...common, version: job.version, reason: error };
    emit(by, tx, tenant, { type: "agent_upgrade_failed", resource, details });
  }
  if (upgrade === null) return;
  const counted = job.status === "complete" ? 1 : 0;
  const succeeded = upgrade.succeeded - counted + (error === null ? 1 : 0);
  const failed = upgrade.failed + (error === null ? 0 : 1);
  tx.put(upgrades, tenant, { ...upgrade, succeeded, failed });
}
