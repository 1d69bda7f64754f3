import { z } from "zod";
import { getUsage, type PeriodName, PERIODS } from "../core/access/usage/report.ts";
import { route } from "./call/route.ts";
import { IdParams, Timestamp } from "./schemas/schemas.ts";

const Period = z.enum(Object.keys(PERIODS) as [PeriodName, ...PeriodName[]]);

const Usage = z.object({
  key_id: z.string(),
  name: z.string(),
  period: z.object({ from: z.iso.date(), to: z.iso.date() }),
  total_requests: z.int().meta({ description: "Admitted requests, whatever was answered." }),
  total_mcp_calls: z.int(),
  avg_requests_per_day: z.int(),
  rate_limit_hits: z.int().meta({ description: "Requests refused with 429; in no other figure." }),
  last_used_at: Timestamp.nullable(),
  top_agents: z.array(z.object({ agent_id: z.string(), requests: z.int() })),
  top_endpoints: z.array(z.object({ endpoint: z.string(), calls: z.int() })),
  series: z.array(z.object({
    from: Timestamp,
    requests: z.int(),
    mcp_calls: z.int(),
    rate_limit_hits: z.int(),
  })).meta({ description: "By UTC day, for 24h by hour; the last one is under way." }),
}).meta({ id: "ApiKeyUsage" });

export const usageRoutes = [
  route({
    id: "api_keys.usage",
    method: "GET",
    path: "/api/v1/api-keys/{id}/usage",
    summary: "What a key has done lately",
    description:
      "Of the last 24 hours, or of the last 7, 30 or 90 UTC days, the hour or day under way " +
      "included; for whoever may read the key. `total_requests` counts every request that was " +
      "admitted, from 2xx to 5xx, 403 among them; one that was refused with 429 is in " +
      "`rate_limit_hits` only, one refused with 401 is nobody's. MCP calls are counted apart. At " +
      "most ten agents and endpoints are named, the busiest first. The figures are exact after a " +
      "clean stop; a crash loses less than its last second. They are kept for 92 days, " +
      "`last_used_at` as long as the key.",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    query: z.strictObject({
      period: Period.default("7d").meta({
        description: "The last hours, or UTC days with the one under way.",
      }),
    }),
    success: { status: 200, body: Usage },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, query }) => getUsage(work, params.id, query.period),
  }),
];
