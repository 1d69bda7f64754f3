import { z } from "zod";
import { collection } from "../store/collection.ts";

/** One client's MCP session, as protocol revisions up to 2025-11-25 define it. */
export const McpSessionRecord = z.strictObject({
  id: z.string(),
  /** The user or key that opened it. No other may use it. */
  actor: z.string(),
  client: z.strictObject({ name: z.string(), version: z.string() }).nullable(),
  protocol_version: z.string(),
  /** The capabilities that the client declared. */
  capabilities: z.record(z.string(), z.unknown()),
  /** The lowest log level that the client wants. */
  log_level: z.string().nullable().default(null),
  /** The resource URIs that the client subscribed to. */
  uris: z.array(z.string()).default([]),
  /** Recorded tool calls; those of the last minute may be missing. */
  calls: z.int(),
  created_at_ms: z.number(),
  /** When it ends unless it is used before. */
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
