import { z } from "zod";
import { changeLimits, showLimits } from "../core/access/access.ts";
import { LimitOverrides } from "../kv/records/fields.ts";
import { HOST_WRITES, route } from "./call/route.ts";
import { IdParams, Timestamp } from "./schemas/schemas.ts";

const Limits = z.object({
  id: z.string(),
  type: z.enum(["api_key", "organization"]),
  organization_id: z.string(),
  plan: z.string(),
  overrides: LimitOverrides.meta({ description: "What the host set; null is unlimited." }),
  limits: z.array(z.object({
    name: z.string(),
    scope: z.string().meta({ description: "What a 429 calls it in `details.scope`." }),
    limit: z.int().meta({ description: "2147483647 means no limit." }),
    source: z.enum(["override", "configuration", "plan"]),
    window_seconds: z.int().nullable(),
    remaining: z.int().meta({ description: "What is left now, at the least." }),
    resets_at: Timestamp.nullable(),
  })),
}).meta({ id: "LimitState" });

const ONLY_OF_KEYS = "is a limit of API keys alone";

export const limitRoutes = [
  route({
    id: "limits.get",
    method: "GET",
    path: "/api/admin/limits/{id}",
    summary: "Limits of an API key or an organization, where they come from, and what is left",
    description: "The host organization sees everybody's, others their own.",
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    params: IdParams,
    success: { status: 200, body: Limits },
    faults: ["NOT_FOUND"],
    handle: (work, { params }, { limiter }) => showLimits(work, limiter, params.id),
  }),
  route({
    id: "limits.set",
    method: "PUT",
    path: "/api/admin/limits/{id}",
    summary: "Set limits of an API key, or the requests per minute of an organization",
    description:
      "Replaces what was set before: what is left out is as configured, or as the plan " +
      "says; `{}` removes the override; `null` is unlimited. In force for the next request.",
    access: HOST_WRITES,
    liveOnly: true,
    effect: "write",
    audit: {
      event: "limits_changed",
      resource: "limits",
      id: ({ id }) => id,
      details: ({ type, organization_id, overrides }) => ({ type, organization_id, overrides }),
    },
    params: IdParams,
    body: LimitOverrides,
    rules: {
      "body.mcp_calls_per_minute": ONLY_OF_KEYS,
      "body.max_concurrent": ONLY_OF_KEYS,
      "body.burst_per_10_seconds": ONLY_OF_KEYS,
      "body.webhook_deliveries_per_minute": ONLY_OF_KEYS,
    },
    success: { status: 200, body: Limits },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params, body }, { limiter }) => changeLimits(work, limiter, params.id, body),
  }),
];
