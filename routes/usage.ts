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
    description: "The first and the last UTC day that the figures are of.",
  }),
  complete: z.boolean().meta({
    description: "False when the period begins before what is kept: the figures begin later.",
  }),
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
  })).meta({ description: "By UTC day, of up to two days by hour." }),
}).meta({ id: "ApiKeyUsage" });

export const usageRoutes = [
  route({
    id: "api_keys.usage",
    method: "GET",
    path: "/api/v1/api-keys/{id}/usage",
    summary: "What a key has done lately",
    description:
      "By whole hours for a period of up to two days, else by whole UTC days, as far as the hour or " +
      "day under way: `7d` is today and the six days before. For whoever may read the key. " +
      "`total_requests` counts every request that was admitted, from 2xx to 5xx, 403 among them; one " +
      "that was refused with 429 is in `rate_limit_hits` only, one refused with 401 is nobody's. MCP " +
      "calls are counted apart. At most ten agents and endpoints are named, the busiest first. The " +
      "figures are exact after a clean stop; a crash loses less than its last second. They are kept " +
      `for ${SERIES_DAYS} days, \`last_used_at\` as long as the key.`,
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
