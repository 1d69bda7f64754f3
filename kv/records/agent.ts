import { z } from "zod";
import { collection } from "../store/collection.ts";

/** What may be reported of an agent's health: the words of its link, and those that monitoring uses. */
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

/** A program on a remote machine that runs commands. */
export const AgentRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(["online", "degraded", "offline"]),
  /** What the heartbeat endpoint was told last. */
  reported_status: z.enum(REPORTED_STATUSES).nullable(),
  /** When the agent itself told that last, by its credential: a sign of life, but no link. */
  reported_at_ms: z.number().nullable().default(null),
  version: z.string(),
  platform: z.string(),
  hostname: z.string(),
  labels: z.record(z.string(), z.string()),
  policy_version: z.string().nullable(),
  /** The agent's own Ed25519 key, base64url: who it is. */
  public_key: z.string(),
  /** The verdict key that it has pinned, as far as the relay knows; null when it follows no hand-over. */
  verdict_key: z.string().nullable().default(null),
  /** The credential that registered it; another one is refused. */
  credential_id: z.string(),
  /** The instance that holds its link, null when it has none. */
  instance: z.string().nullable(),
  /** Counts its links, so that the end of an old link does not touch a new one. */
  link: z.int(),
  connected_at_ms: z.number().nullable(),
  /** The last sign of life on its link. */
  last_seen_ms: z.number().nullable(),
  /** When its link broke, until it is back or people were told. */
  lost_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
});
export type AgentRecord = z.infer<typeof AgentRecord>;

/** The agent's last sign of life, on its link or by a report of its own; null before the first one. */
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
