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

/** A program on a remote machine that runs commands. */
export const AgentRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(["online", "degraded", "offline"]),
  /** The last status reported to the heartbeat endpoint. */
  reported_status: z.enum(REPORTED_STATUSES).nullable(),
  /** When the agent last reported it with its own credential: a sign of life without a link. */
  reported_at_ms: z.number().nullable().default(null),
  version: z.string(),
  platform: z.string(),
  hostname: z.string(),
  labels: z.record(z.string(), z.string()),
  policy_version: z.string().nullable(),
  /** The agent's own Ed25519 key, base64url, which identifies it. */
  public_key: z.string(),
  /** The verdict key that it has pinned, as far as the relay knows; null when it follows no handover. */
  verdict_key: z.string().nullable().default(null),
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
