import { z } from "zod";
import { collection } from "../store/collection.ts";

/** A program on a remote machine that runs commands. */
export const AgentRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(["online", "degraded", "offline"]),
  /** What the public heartbeat endpoint was told last; no sign of life. */
  reported_status: z.enum(["ok", "degraded", "error"]).nullable(),
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
  last_seen_ms: z.number().nullable(),
  /** When its link broke, until it is back or people were told. */
  lost_at_ms: z.number().nullable(),
  created_at_ms: z.number(),
});
export type AgentRecord = z.infer<typeof AgentRecord>;

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
