import { Buffer } from "node:buffer";
import { type AgentUpgradeRecord, agentUpgrades } from "../../../kv/records/backup.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Link } from "../../agents/agents.ts";
import { isOlder, PIECE_BYTES } from "../../protocol/protocol.ts";
import { type Ask, JobFailed } from "../backups/archives.ts";
import { obstacleOfForm, programFor } from "./programs.ts";
import { endAgentUpgrade, type UpgradeParts } from "./progress.ts";

/**
 * Ends the upgrade of an agent that has come back: with the new program, or with the one before if the new one failed.
 * An agent that meanwhile got the version in another way needs nothing. False while the agent has yet to be sent it.
 */
export async function judgeUpgrade(
  parts: UpgradeParts,
  tenant: Tenant,
  { agent }: Link,
  job: AgentUpgradeRecord,
): Promise<boolean> {
  if (agent === null) return true;
  const { program, link, version } = agent;
  const end = (error: string | null) => endAgentUpgrade(parts, tenant, job, error);
  if (program?.upgrade === job.id) {
    await end(version === job.version ? null : otherVersion(job, version));
  } else if (program?.failed?.job_id === job.id) await end(program.failed.message);
  else if (!isOlder(version, job.version)) await end(null);
  else if (job.sent_link === null) return false;
  else if (job.sent_link !== link) await end("the agent came back with its earlier program");
  return true;
}

const otherVersion = ({ version }: AgentUpgradeRecord, found: string): string =>
  `the program that was provided as version ${version} has version ${found}: check its file`;

/** Sends an agent the new program. The agent then starts it, and comes back over a new link. */
export async function executeUpgrade(
  parts: UpgradeParts,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  job: AgentUpgradeRecord,
): Promise<void> {
  const { agent } = link;
  if (agent === null) return;
  // It may have come back with another program since it was chosen.
  const obstacle = obstacleOfForm(agent, job.version);
  if (obstacle !== null) throw new JobFailed(obstacle);
  const found = await programFor(parts.ports.programs, job.version, agent);
  if (found === null) {
    throw new JobFailed(`the relay has no program of version ${job.version} for ${agent.platform}`);
  }
  const { platform, program: { sha256, bytes, read } } = found;
  const order = { job_id: job.id, version: job.version, platform, sha256, bytes };
  // Kept before the agent can come back with it.
  await change(parts, tenant, job, { sha256 });
  let reply = await ask(link, job.id, () => link.upgrade(order));
  for (let offset = 0; reply.type === "transfer_want"; offset += PIECE_BYTES) {
    if (reply.offset !== offset || offset >= bytes) {
      throw new JobFailed("the agent asks for a piece out of order");
    }
    const piece = await read(offset, Math.min(PIECE_BYTES, bytes - offset));
    const data = Buffer.from(piece).toString("base64");
    const frame = { type: "transfer_data", job_id: job.id, offset, data } as const;
    reply = await ask(link, job.id, () => link.send(frame));
  }
  if (reply.type !== "upgrade_ready") throw new JobFailed("the agent answered out of order");
  await change(parts, tenant, job, { sent_link: agent.link });
}

async function change(
  { store }: UpgradeParts,
  tenant: Tenant,
  { id, attempt }: AgentUpgradeRecord,
  fields: Partial<Pick<AgentUpgradeRecord, "sha256" | "sent_link">>,
): Promise<void> {
  await store.transact(async (tx) => {
    const job = await tx.get(agentUpgrades, tenant, id);
    if (job?.status === "running" && job.attempt === attempt) {
      tx.put(agentUpgrades, tenant, { ...job, ...fields });
    }
  });
}
