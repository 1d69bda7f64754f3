import { z } from "zod";
import {
  createApiKey,
  deleteApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
} from "../core/api_keys.ts";
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
