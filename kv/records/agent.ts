import { z } from "zod";
import { collection } from "../store/collection.ts";

/** Statuses that may be reported of an agent: those of its link, and those of monitoring tools. */
export const REPORTED_STATUSES = [
  "ok",
  "degraded",
  "error",
  "online",
  "healthy",
  "warning",
  "critical",
  "offline",
] as const;

const Labels = z.record(z.string(), z.string());

/** A program on a remote machine that runs commands. */
export const AgentRecord = z.strictObject({
  id: z.string(),
  /** Unique in its space: `agentNames` has a record of it. */
  name: z.string(),
  /** The name that it was to have, where that does not fit or belonged to another agent; else null. */
  display_name: z.string().nullable().default(null),
  status: z.enum(["online", "degraded", "offline"]),
  /** The last status reported to the heartbeat endpoint. */
  reported_status: z.enum(REPORTED_STATUSES).nullable(),
  /** When the agent last reported it with its own credential: a sign of life without a link. */
  reported_at_ms: z.number().nullable().default(null),
  version: z.string(),
  platform: z.string(),
  hostname: z.string(),
  /** How its program is installed, and its last upgrades; null when the program tells nothing. */
  program: z.strictObject({
    form: z.enum(["executable", "bundle", "source"]),
    upgrade: z.string().nullable(),
    failed: z.strictObject({ job_id: z.string(), message: z.string() }).nullable(),
  }).nullable().default(null),
  /** The labels in force: those that it reports, overridden by the relay's. */
  labels: Labels,
  /** The labels that it reported with its newest link. */
  reported_labels: Labels.default({}),
  /** The labels of its pairing code, and those that people set. It cannot change them. */
  relay_labels: Labels.default({}),
  policy_version: z.string().nullable(),
  /** The agent's own Ed25519 key, base64url, which identifies it. */
  public_key: z.string(),
  /** The verdict key that it has pinned, as far as the relay knows; null when it follows no handover. */
  verdict_key: z.string().nullable().default(null),
  /** The newest checkpoint of the audit log that it signed as a witness, as far as it was recorded; null for none. */
  witnessed: z.strictObject({ note: z.string(), at_ms: z.number() }).nullable().default(null),
  /** The credential that registered it. Others are refused. */
  credential_id: z.string(),
  /** The instance that has its link; null without one. */
  instance: z.string().nullable(),
  /** Counts its links, so that the end of an old link does not affect a new one. */
  link: z.int(),
  /** When its newest link began; kept after that link has ended. */
  connected_at_ms: z.number().nullable(),
  /** The last sign of life on its link. */
  last_seen_ms: z.number().nullable(),
  /** When its link broke; null once it is back or people were notified. */
  lost_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
});
export type AgentRecord = z.infer<typeof AgentRecord>;

/** The agent's last sign of life, on its link or by its own report; null before the first. */
export function lastSeenMs({ last_seen_ms, reported_at_ms }: AgentRecord): number | null {
  if (last_seen_ms === null || reported_at_ms === null) return last_seen_ms ?? reported_at_ms;
  return Math.max(last_seen_ms, reported_at_ms);
}

export const agents = collection({
  name: "agents",
  schema: AgentRecord,
  unique: { public_key: (agent) => [agent.public_key] },
  lookup: { id: (agent) => [agent.id] },
  index: { status: (agent) => [agent.status] },
  queue: {
    linked: (agent) => agent.instance === null ? null : [agent.instance],
    lost: (agent) => agent.lost_at_ms === null ? null : [agent.lost_at_ms],
  },
  counted: true,
  cached: 20_000,
});

/** A name of a space, taken by an agent, or reserved for the agent of a paired device. */
const AgentNameRecord = z.strictObject({
  /** The name. */
  id: z.string(),
  /** The agent that has it; null while it is reserved. */
  agent_id: z.string().nullable(),
  /** The device that it is reserved for; null once an agent has it. */
  device_id: z.string().nullable(),
  /** The end of a reservation whose device is not confirmed; null for none. */
  expires_at_ms: z.number().nullable(),
});

export const agentNames = collection({
  name: "agent_names",
  schema: AgentNameRecord,
  expiresAt: ({ expires_at_ms }) => expires_at_ms,
  cached: 20_000,
});

/** What every agent's id begins with, and no agent's name. */
export const AGENT_ID_PREFIX = "agt_";

const NAME_CHARS_MAX = 63;

/** The pattern of an agent's name; `isAgentName` also refuses the form of an id. */
export const AGENT_NAME = /^[a-z0-9][a-z0-9._-]{0,62}$/;

/** True for a text that may be an agent's name. */
export const isAgentName = (text: string): boolean =>
  AGENT_NAME.test(text) && !text.startsWith(AGENT_ID_PREFIX);

/** The name that is closest to a text; `agent` for a text without letters and digits. */
export function agentName(text: string): string {
  const plain = text.normalize("NFKD").replace(/[\p{M}\p{Cf}]/gu, "").toLowerCase();
  const name = plain.replace(/[^a-z0-9._-]+/g, "-").replace(/^[^a-z0-9]+/, "")
    .slice(0, NAME_CHARS_MAX).replace(/-+$/, "");
  if (name === "") return "agent";
  return isAgentName(name) ? name : name.replace(AGENT_ID_PREFIX, "agt-");
}

/** The name of this number: the first is the name itself, the second `<name>-2`, within the length of names. */
export function numberedName(name: string, number: number): string {
  if (number === 1) return name;
  const suffix = `-${number}`;
  return `${name.slice(0, NAME_CHARS_MAX - suffix.length)}${suffix}`;
}

/**
 * The first number of a name that is free. Where names of lower numbers were freed it may be a higher one: the search
 * doubles the number and then halves the distance, so it asks about few names.
 */
export async function freeNumber(
  name: string,
  isTaken: (name: string) => boolean | Promise<boolean>,
): Promise<number> {
  let taken = 0, free = 1;
  while (await isTaken(numberedName(name, free))) [taken, free] = [free, free * 2];
  while (free - taken > 1) {
    const middle = Math.floor((taken + free) / 2);
    if (await isTaken(numberedName(name, middle))) taken = middle;
    else free = middle;
  }
  return free;
}
