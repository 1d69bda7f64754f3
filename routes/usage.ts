import { z } from "zod";
import { SERIES_DAYS } from "../kv/store/series.ts";
import { PERIOD_RULE } from "../core/codec/codec.ts";
import { getUsage } from "../core/access/access.ts";
import { route } from "./call/route.ts";
import { IdParams, Period, Timestamp } from "./schemas/schemas.ts";

const Usage = z.object({
  key_id: z.string(),
  name: z.string(),
  period: z.object({ from: z.iso.date(), to: z.iso.date() }).meta({
    description: "The first and the last UTC day of the figures.",
  }),
  complete: z.boolean().meta({
    description: "False when the period begins before the retained figures.",
  }),
  total_requests: z.int().meta({ description: "Admitted requests, whatever their status." }),
  total_mcp_calls: z.int(),
  avg_requests_per_day: z.int(),
  rate_limit_hits: z.int().meta({
    description: "Requests refused with 429; no other figure counts them.",
  }),
  last_used_at: Timestamp.nullable(),
  top_agents: z.array(z.object({ agent_id: z.string(), requests: z.int() })),
  top_endpoints: z.array(z.object({ endpoint: z.string(), calls: z.int() })),
  series: z.array(z.object({
    from: Timestamp,
    requests: z.int(),
    mcp_calls: z.int(),
    rate_limit_hits: z.int(),
  })).meta({ description: "By hour for up to two days, otherwise by UTC day." }),
}).meta({ id: "ApiKeyUsage" });

export const usageRoutes = [
  route({
    id: "api_keys.usage",
    method: "GET",
    path: "/api/v1/api-keys/{id}/usage",
    summary: "Get the usage of an API key",
    description:
      "Available to everyone who may read the key. Figures are by hour for a period of up to " +
      "two days and by UTC day otherwise, up to the current hour or day: `7d` is today and the " +
      "six days before. `total_requests` counts all admitted requests with any status, 403 " +
      "included. Requests refused with 429 count only in `rate_limit_hits`; those refused with " +
      "401 are not counted. MCP calls are counted separately. The ten busiest agents and " +
      "endpoints are listed. Figures are exact after a clean stop; a crash loses at most the " +
      `last second. They are kept for ${SERIES_DAYS} days, and \`last_used_at\` as long as the ` +
      "key.",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    query: z.strictObject({
      period: Period.default("7d"),
    }),
    rules: { "query.period": PERIOD_RULE },
    success: { status: 200, body: Usage },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, query }, { usage }) => getUsage(work, usage, params.id, query.period),
  }),
];
