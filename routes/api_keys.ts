import { z } from "zod";
import {
  createApiKey,
  deleteApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
} from "../core/api_keys.ts";
import { getUsage, type PeriodName, PERIODS } from "../core/usage/report.ts";
import { route } from "./_route.ts";
import {
  boundedObject,
  IdParams,
  JsonObject,
  Name,
  Named,
  PageQuery,
  Pagination,
  ScopeName,
  Timestamp,
} from "./_schemas.ts";

const METADATA_BYTES_MAX = 16 * 1024;

const ApiKey = z.object({
  id: z.string(),
  name: z.string(),
  description: z.string(),
  key: z.string().meta({ description: "The first characters; the whole value only once." }),
  type: z.enum(["live", "test"]),
  scopes: z.array(ScopeName),
  metadata: JsonObject,
  created_by: z.string(),
  created_at: Timestamp,
  expires_at: Timestamp,
  last_used: Timestamp.nullable(),
  status: z.enum(["active", "rotating", "expired", "revoked"]),
  rate_limits: z.object({
    requests_per_minute: z.int(),
    mcp_calls_per_minute: z.int(),
    max_concurrent: z.int(),
  }),
}).meta({ id: "ApiKey" });

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

const Scopes = z.array(ScopeName).min(1).max(16)
  .refine((scopes) => new Set(scopes).size === scopes.length, "each scope once");

export const apiKeyRoutes = [
  route({
    id: "api_keys.create",
    method: "POST",
    path: "/api/v1/api-keys",
    summary: "Create an API key; the answer holds its value, once",
    access: { scope: "system:write" },
    noStore: true,
    effect: "write",
    audit: {
      event: "api_key_created",
      resource: "api_key",
      id: (key) => key.id,
      details: ({ name, scopes, type }) => ({ name, scopes, type }),
    },
    body: z.strictObject({
      name: Name,
      description: z.string().max(1000).default(""),
      scopes: Scopes,
      type: z.enum(["live", "test"]).default("live"),
      expires_days: z.int().min(1).max(3650).default(90),
      metadata: boundedObject(METADATA_BYTES_MAX).default({}),
    }),
    success: { status: 201, body: ApiKey },
    faults: ["FORBIDDEN"],
    handle: (work, { body }) => createApiKey(work, body),
  }),
  route({
    id: "api_keys.list",
    method: "GET",
    path: "/api/v1/api-keys",
    summary: "List keys of the organization, newest first",
    description:
      "Those of the caller's space; by its id, a test key is looked after from the live " +
      "space too. Without system:read: those that the signed-in user made; a key sees itself.",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery,
    success: {
      status: 200,
      body: z.object({ api_keys: z.array(ApiKey), pagination: Pagination }),
    },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listApiKeys(work, query),
  }),
  route({
    id: "api_keys.get",
    method: "GET",
    path: "/api/v1/api-keys/{id}",
    summary: "Get a key, its value masked",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    success: { status: 200, body: ApiKey },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getApiKey(work, params.id),
  }),
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
    query: z.strictObject({ period: Period.default("7d") }),
    success: { status: 200, body: Usage },
    faults: ["NOT_FOUND"],
    handle: (work, { params, query }) => getUsage(work, params.id, query.period),
  }),
  route({
    id: "api_keys.revoke",
    method: "POST",
    path: "/api/v1/api-keys/{id}/revoke",
    summary: "Revoke a key: it stops working before this answers",
    access: { signedIn: true },
    effect: "write",
    audit: {
      event: "api_key_revoked",
      resource: "api_key",
      id: (key) => key.id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: ApiKey },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params }) => revokeApiKey(work, params.id),
  }),
  route({
    id: "api_keys.delete",
    method: "DELETE",
    path: "/api/v1/api-keys/{id}",
    summary: "Delete a key",
    access: { signedIn: true },
    effect: "write",
    audit: {
      event: "api_key_deleted",
      resource: "api_key",
      id: (key) => key.id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    success: { status: 204, about: Named },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => deleteApiKey(work, params.id),
  }),
];
