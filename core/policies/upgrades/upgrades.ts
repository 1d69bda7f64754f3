import { type AgentRecord, agents } from "../../../kv/records/agent.ts";
import {
  type AgentUpgradeRecord,
  agentUpgrades,
  type UpgradeRecord,
  upgrades,
  UPGRADES_KEPT,
} from "../../../kv/records/backup.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { agentIdOf, ownedAgent } from "../../agents/agents.ts";
import { iso, isoOrNull } from "../../codec/codec.ts";
import { emit } from "../../events/events.ts";
import { Fault } from "../../fault/fault.ts";
import { VERSION } from "../../protocol/protocol.ts";
import type { Work, Writing } from "../../work/work.ts";
import { obstacleOf } from "./programs.ts";
import { step, type UpgradeParts } from "./progress.ts";

/** Agents of one upgrade: their ids fit into one record. */
export const UPGRADED_MAX = 1_000;
/** Agents that an answer lists as not upgraded. */
const SKIPPED_MAX = 100;
const PAGE = 200;

/** The agents that an upgrade concerns: those named, those with all labels, or all. */
export interface UpgradeRequest {
  readonly names?: readonly string[] | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
  readonly all?: true | undefined;
  readonly stop_after_failures: number;
}

type PartsOfRoute = Pick<UpgradeParts, "links" | "transfers" | "instance">;

/**
 * Starts to upgrade the outdated ones of the chosen agents to the relay's own version, in stages.
 * @throws {Fault} AGENT_NOT_FOUND, and CONFLICT while another upgrade is under way
 */
export async function startUpgrade(work: Writing, parts: PartsOfRoute, request: UpgradeRequest) {
  const { actor, ports, tx } = work;
  const { tenant } = actor;
  const running = await tx.find(upgrades, tenant, "running", ["running"]);
  if (running !== null) {
    const message = "Another upgrade is under way. Wait until it has ended, or cancel it.";
    throw new Fault("CONFLICT", message, { id: running.id });
  }
  const { chosen, skipped, remaining } = await choose(work, request);
  if (chosen.length === 0) return { upgrade: null, skipped, remaining };
  const record = tx.insert(upgrades, tenant, {
    id: ports.entropy.id("upg"),
    version: VERSION,
    status: "running",
    agent_ids: chosen.map(({ id }) => id),
    started: 0,
    succeeded: 0,
    failed: 0,
    stop_after: request.stop_after_failures,
    created_by: actor.id,
    created_at_ms: ports.clock.now(),
    finished_at_ms: null,
  });
  emit(work, tx, tenant, {
    type: "upgrade_started",
    resource: { type: "upgrade", id: record.id },
    details: { version: VERSION, agents: chosen.length, stop_after: record.stop_after },
  });
  await dropOldest(work);
  const { upgrade } = await step({ ...work, ...parts }, tx, tenant, record);
  return { upgrade: await showUpgrade(work, upgrade, "running"), skipped, remaining };
}

/** Keeps the newest upgrades. Each agent keeps as many jobs, so those of the kept ones are there. */
async function dropOldest({ store, tx, actor: { tenant } }: Writing): Promise<void> {
  const { items } = await store.list(upgrades, tenant, { limit: UPGRADES_KEPT });
  const [oldest] = items;
  if (items.length === UPGRADES_KEPT && oldest) tx.delete(upgrades, tenant, oldest.id);
}

/** The chosen agents that can be upgraded, and why others cannot. Current ones are listed only if they were named. */
async function choose(work: Writing, request: UpgradeRequest) {
  const chosen: AgentRecord[] = [];
  const skipped: { agent_id: string; name: string; current: boolean; reason: string }[] = [];
  let remaining = 0;
  for await (const agent of candidates(work, request)) {
    const obstacle = await obstacleOf(work.ports.programs, agent);
    if (obstacle === null) {
      if (chosen.length < UPGRADED_MAX) chosen.push(agent);
      else remaining++;
    } else if (skipped.length < SKIPPED_MAX && (!obstacle.current || request.names)) {
      skipped.push({ agent_id: agent.id, name: agent.name, ...obstacle });
    }
  }
  return { chosen, skipped, remaining };
}

/** Reads agents outside of the transaction, which checks only those that it starts with. */
async function* candidates(
  work: Writing,
  { names, labels = {} }: UpgradeRequest,
): AsyncIterable<AgentRecord> {
  const { store, actor: { tenant } } = work;
  if (names !== undefined) {
    const ids = new Set<string>();
    for (const name of names) ids.add(await agentIdOf(store, tenant, name));
    for (const id of ids) yield await ownedAgent({ ...work, db: store }, id);
    return;
  }
  const wanted = Object.entries(labels);
  for await (const agent of everyListed(store, agents, tenant, { limit: PAGE })) {
    if (wanted.every(([key, value]) => agent.labels[key] === value)) yield agent;
  }
}

/** The caller's upgrade with the state of each agent. @throws {Fault} NOT_FOUND */
export async function getUpgrade(work: Work, id: string) {
  return await showUpgrade(work, await ownedUpgrade(work, id));
}

/** Starts no more agents; those that were asked go on. @throws {Fault} NOT_FOUND, CONFLICT */
export async function cancelUpgrade(work: Writing, parts: PartsOfRoute, id: string) {
  const { actor: { tenant }, tx } = work;
  const upgrade = await ownedUpgrade(work, id);
  if (upgrade.status !== "running") {
    throw new Fault("CONFLICT", `This upgrade is ${upgrade.status}.`);
  }
  const stopping = { ...upgrade, stop_after: 0 };
  return await showUpgrade(work, (await step({ ...work, ...parts }, tx, tenant, stopping)).upgrade);
}

async function ownedUpgrade({ db, actor }: Work, id: string): Promise<UpgradeRecord> {
  const upgrade = await db.get(upgrades, actor.tenant, id);
  if (upgrade === null) throw new Fault("NOT_FOUND", "There is no such upgrade.");
  return upgrade;
}

/** `withoutJob` is the state of an asked agent whose job is not in the store: its jobs go when it is deleted. */
async function showUpgrade(
  { store, actor: { tenant } }: Work,
  upgrade: UpgradeRecord,
  withoutJob: "running" | "deleted" = "deleted",
) {
  const jobs = new Map<string, AgentUpgradeRecord>();
  const list = { index: "upgrade", prefix: [upgrade.id], limit: PAGE };
  for await (const job of everyListed(store, agentUpgrades, tenant, list)) {
    jobs.set(job.agent_id, job);
  }
  return {
    id: upgrade.id,
    version: upgrade.version,
    status: upgrade.status,
    stop_after_failures: upgrade.stop_after,
    succeeded: upgrade.succeeded,
    failed: upgrade.failed,
    agents: upgrade.agent_ids.map((agent_id, at) => {
      const job = jobs.get(agent_id);
      return {
        agent_id,
        name: job?.name ?? null,
        status: job?.status ?? (at < upgrade.started ? withoutJob : "waiting" as const),
        previous_version: job?.previous_version ?? null,
        error: job?.error ?? null,
      };
    }),
    created_by: upgrade.created_by,
    created_at: iso(upgrade.created_at_ms),
    finished_at: isoOrNull(upgrade.finished_at_ms),
  };
}
