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
  overrides: LimitOverrides.meta({ description: "The host's overrides; null means unlimited." }),
  limits: z.array(z.object({
    name: z.string(),
    scope: z.string().meta({ description: "The name that a 429 gives as `details.scope`." }),
    limit: z.int().meta({ description: "2147483647 means no limit." }),
    source: z.enum(["override", "configuration", "plan"]),
    window_seconds: z.int().nullable(),
    remaining: z.int().meta({ description: "At least this many are left now." }),
    resets_at: Timestamp.nullable(),
  })),
}).meta({ id: "LimitState" });

const ONLY_OF_KEYS = "applies to API keys only";

export const limitRoutes = [
  route({
    id: "limits.get",
    method: "GET",
    path: "/api/admin/limits/{id}",
    summary: "Get the limits of a key or organization",
    description:
      "Also says where each limit comes from and how much is left. The host organization sees " +
      "everyone's limits; others see their own.",
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
    summary: "Set the limits of a key or organization",
    description:
      "Replaces all overrides. A limit that is left out follows the configuration or the plan; " +
      "`{}` removes all overrides; `null` means unlimited. It takes effect with the next " +
      "request. An organization has only `requests_per_minute`.",
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
