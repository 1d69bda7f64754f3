import { z } from "zod";
import {
  createApiKey,
  deleteApiKey,
  EXPIRES_DAYS_DEFAULT,
  EXPIRES_DAYS_MAX,
  explainApiKey,
  getApiKey,
  listApiKeys,
  revokeApiKey,
  rotateApiKey,
  updateApiKey,
} from "../core/access/access.ts";
import {
  ApiKey,
  Explanation,
  GraceHours,
  Metadata,
  Revocation,
  Rotation,
  Scopes,
} from "./schemas/api_keys.ts";
import { route } from "./call/route.ts";
import {
  changeOf,
  DeletedResource,
  IdParams,
  listOf,
  Name,
  PageQuery,
  ScopeName,
  Space,
  Timestamp,
} from "./schemas/schemas.ts";

export const apiKeyRoutes = [
  route({
    id: "api_keys.create",
    method: "POST",
    path: "/api/v1/api-keys",
    summary: "Create an API key",
    description: "Only this response shows the key's whole value.",
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
      name: Name.meta({ examples: ["deploy pipeline"] }),
      description: z.string().max(1000).default(""),
      scopes: Scopes,
      type: Space.default("live")
        .meta({ description: "A test key sees and creates only test data." }),
      expires_days: z.int().min(1).max(EXPIRES_DAYS_MAX).optional().meta({
        description:
          `Days until it expires; ${EXPIRES_DAYS_DEFAULT} by default. A key created by another key ` +
          "expires with that key by default, and never later.",
      }),
      metadata: Metadata.default({}),
    }),
    rules: {
      "body.expires_days":
        "must not exceed the remaining lifetime of the key that creates this one",
    },
    success: { status: 201, body: ApiKey },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createApiKey(work, body),
  }),
  route({
    id: "api_keys.list",
    method: "GET",
    path: "/api/v1/api-keys",
    summary: "List API keys, newest first",
    description:
      "In the live space, a signed-in user sees the keys of both spaces, and a key sees the " +
      "live keys unless it asks for `type` test. The test space sees only its own keys. " +
      "Without system:read, a user sees the keys that they created, and a key sees itself. " +
      "Expired and revoked keys are listed and counted until they are deleted: see `status`.",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery.extend({
      type: Space.optional().meta({ description: "Keys of this space." }),
    }),
    success: { status: 200, body: listOf("api_keys", ApiKey) },
    faults: ["FORBIDDEN"],
    tool: { name: "list_api_keys", destructive: false },
    handle: (work, { query }, { usage }) => listApiKeys(work, usage, query),
  }),
  route({
    id: "api_keys.get",
    method: "GET",
    path: "/api/v1/api-keys/{id}",
    summary: "Get an API key",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    success: { status: 200, body: ApiKey },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }, { usage }) => getApiKey(work, usage, params.id),
  }),
  route({
    id: "api_keys.explain",
    method: "GET",
    path: "/api/v1/api-keys/{id}/explain",
    summary: "Explain a key's access to a scope",
    description:
      "Available to everyone who may read the key. It checks the key, its creator's present " +
      "rights and the organization, and shows the limits in force.",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    query: z.strictObject({ scope: ScopeName.meta({ description: "The scope to check." }) }),
    success: { status: 200, body: Explanation },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    tool: { name: "explain_api_key", destructive: false },
    handle: (work, { params, query }, { limiter }) =>
      explainApiKey(work, limiter, params.id, query.scope),
  }),
  route({
    id: "api_keys.update",
    method: "PATCH",
    path: "/api/v1/api-keys/{id}",
    summary: "Update an API key's name, metadata, scopes or expiry",
    description:
      "It takes effect with the next request. The given fields replace the old values; the " +
      "record's other fields may be sent back as they were read. Scopes must be within the " +
      "caller's rights and within the present rights of the key's creator. To change the expiry, " +
      "the caller needs every right of the key and, for another user's key, the rights to assign " +
      "that user's roles. An ended key cannot be changed.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "api_key_updated, when something changes" },
    params: IdParams,
    body: changeOf(ApiKey, {
      name: Name.optional().meta({ examples: ["deploy pipeline"] }),
      metadata: Metadata.optional(),
      scopes: Scopes.optional(),
      expires_at: Timestamp.optional().meta({
        description:
          `When it ends: in the future, and at most ${EXPIRES_DAYS_MAX} days ahead. A key cannot ` +
          "give another key a later end than its own.",
      }),
    }).refine(
      ({ name, metadata, scopes, expires_at }) =>
        [name, metadata, scopes, expires_at].some((field) => field !== undefined),
      "give name, metadata, scopes or expires_at",
    ).meta({ examples: [{ scopes: ["agents:read"] }], minProperties: 1 }),
    rules: {
      "body.expires_at":
        "must be in the future, within the maximum, and not after the end of the key that changes it",
    },
    success: { status: 200, body: ApiKey },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params, body }, { usage }) => updateApiKey(work, usage, params.id, body),
  }),
  route({
    id: "api_keys.rotate",
    method: "POST",
    path: "/api/v1/api-keys/{id}/rotate",
    summary: "Rotate an API key",
    description:
      "The key gets a new value; its id, name, scopes and expiry stay the same. The caller " +
      "needs all rights of the key and, for another user's key, the rights to assign that " +
      "user's roles. Both values work until the grace period ends, at the latest when the key " +
      "expires. During it, the old value cannot manage keys, and responses to it carry " +
      "`Deprecation` and `Sunset`. With `grace_period_hours` 0 the old value stops working " +
      "before the response, `status` is `active` and `grace_period_ends` is the time of the " +
      "rotation. A rotation during the grace period returns CONFLICT; of several concurrent " +
      "rotations one succeeds.",
    access: { scope: "system:write" },
    noStore: true,
    effect: "steps",
    audit: { byRule: "api_key_rotated" },
    params: IdParams,
    body: z.strictObject({ grace_period_hours: GraceHours }),
    success: { status: 200, body: Rotation },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params, body }) => rotateApiKey(work, params.id, body.grace_period_hours),
  }),
  route({
    id: "api_keys.revoke",
    method: "POST",
    path: "/api/v1/api-keys/{id}/revoke",
    summary: "Revoke an API key",
    description:
      "The key stops working before the response. `would_end` lists what was made with it and " +
      "still works: keys and what those made in turn, keys whose present value it got by " +
      "rotation, pairing codes, devices, ingest tokens, webhooks, integrations, repositories " +
      "with their policies, invitations, users who joined by them, and roles. With `cascade` " +
      "those are ended too, one by one, at most 1,000 in a request, and listed in `ended`. " +
      "`would_end` then lists the rest, with a reason for each that cannot be ended; repeat " +
      "the request to continue. A cascade needs the rights to end each kind found: " +
      "system:write, policy:write for repositories, agents:admin for devices and pairing " +
      "codes. Deactivating a user needs the rights to assign their roles. `dry_run` changes " +
      "nothing. Each list holds at most 200 entries; totals count up to 10,000.",
    access: { signedIn: true },
    effect: "steps",
    audit: { byRule: "api_key_revoked, and with a cascade the event of everything that ends" },
    params: IdParams,
    body: z.strictObject({
      cascade: z.boolean().default(false).meta({
        description: "Also end everything that was made with it.",
      }),
      dry_run: z.boolean().default(false).meta({
        description: "Only list what would end; change nothing.",
      }),
    }),
    success: { status: 200, body: Revocation },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT", "INSUFFICIENT_SCOPES"],
    handle: (work, { params, body }, { usage, madeKinds }) =>
      revokeApiKey(work, { usage, madeKinds }, params.id, body),
  }),
  route({
    id: "api_keys.delete",
    method: "DELETE",
    path: "/api/v1/api-keys/{id}",
    summary: "Delete an API key",
    access: { signedIn: true },
    effect: "write",
    audit: {
      event: "api_key_deleted",
      resource: "api_key",
      id: (key) => key.id,
      details: ({ name }) => ({ name }),
    },
    params: IdParams,
    success: { status: 204, about: DeletedResource },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }, { usage }) => deleteApiKey(work, usage, params.id),
  }),
];
