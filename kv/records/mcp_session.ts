import { z } from "zod";
import { collection } from "../store/collection.ts";

/** One client's session of the Model Context Protocol, as its revisions up to 2025-11-25 have them. */
export const McpSessionRecord = z.strictObject({
  id: z.string(),
  /** The user or key that opened it: no other may use it. */
  actor: z.string(),
  client: z.strictObject({ name: z.string(), version: z.string() }).nullable(),
  protocol_version: z.string(),
  /** What the client can do, as it said. */
  capabilities: z.record(z.string(), z.unknown()),
  /** The mildest that its client wants in its log. */
  log_level: z.string().nullable().default(null),
  /** The addresses that its client subscribed to. */
  uris: z.array(z.string()).default([]),
  /** Tool calls that are on record; the last minute's may be missing. */
  calls: z.int(),
  created_at_ms: z.number(),
  /** When it ends unless something comes before. */
  idle_at_ms: z.number(),
});
export type McpSessionRecord = z.infer<typeof McpSessionRecord>;

export const mcpSessions = collection({
  name: "mcp_sessions",
  schema: McpSessionRecord,
  index: { actor: (session) => [session.actor] },
  queue: { idle: (session) => [session.idle_at_ms] },
  cached: 20_000,
});
