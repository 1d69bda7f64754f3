import { z } from "zod";
import {
  createApiKey,
  deleteApiKey,
  EXPIRES_DAYS_DEFAULT,
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
  IdParams,
  listOf,
  Name,
  Named,
  PageQuery,
  ScopeName,
  Space,
} from "./schemas/schemas.ts";

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
      name: Name.meta({ examples: ["deploy pipeline"] }),
      description: z.string().max(1000).default(""),
      scopes: Scopes,
      type: Space.default("live")
        .meta({ description: "A test key sees and makes test data only." }),
      expires_days: z.int().min(1).max(3650).optional().meta({
        description: `Days until it expires; ${EXPIRES_DAYS_DEFAULT} unless said. A key that a ` +
          "key makes ends with that key unless said, and never later.",
      }),
      metadata: Metadata.default({}),
    }),
    rules: { "body.expires_days": "ends no later than the key that makes this one" },
    success: { status: 201, body: ApiKey },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }) => createApiKey(work, body),
  }),
  route({
    id: "api_keys.list",
    method: "GET",
    path: "/api/v1/api-keys",
    summary: "List keys of the organization, newest first",
    description:
      "From the live space a signed-in person sees those of both spaces, and a key the live ones " +
      "unless it asks for `type` test; the test space sees only its own. " +
      "Without system:read: those that the signed-in user made; a key sees itself. " +
      "Expired and revoked ones are among them, and count, until they are deleted: see `status`.",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery.extend({
      type: Space.optional().meta({ description: "Keys of this space." }),
    }),
    success: { status: 200, body: listOf("api_keys", ApiKey) },
    faults: ["FORBIDDEN"],
    tool: { destructive: false },
    handle: (work, { query }, { usage }) => listApiKeys(work, usage, query),
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
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }, { usage }) => getApiKey(work, usage, params.id),
  }),
  route({
    id: "api_keys.explain",
    method: "GET",
    path: "/api/v1/api-keys/{id}/explain",
    summary: "Explain why a key may or may not use a scope now",
    description: "For whoever may read the key. It looks at the key, at its creator's present " +
      "rights and at the organization, and shows the limits that hold.",
    access: { signedIn: true },
    effect: "read",
    params: IdParams,
    query: z.strictObject({ scope: ScopeName.meta({ description: "The right in question." }) }),
    success: { status: 200, body: Explanation },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    tool: { destructive: false },
    handle: (work, { params, query }, { limiter }) =>
      explainApiKey(work, limiter, params.id, query.scope),
  }),
  route({
    id: "api_keys.update",
    method: "PATCH",
    path: "/api/v1/api-keys/{id}",
    summary: "Change a key's metadata or scopes, for every request from now on",
    description:
      "What is given replaces what was there; the record's other fields may stand beside it as they " +
      "were read. Scopes must be among the caller's rights " +
      "and among those that the key's creator has now.",
    access: { scope: "system:write" },
    effect: "write",
    audit: { byRule: "api_key_updated, when something changes" },
    params: IdParams,
    body: changeOf(ApiKey, { metadata: Metadata.optional(), scopes: Scopes.optional() })
      .refine(
        ({ metadata, scopes }) => metadata !== undefined || scopes !== undefined,
        "give metadata, scopes or both",
      ).meta({ examples: [{ scopes: ["agents:read"] }], minProperties: 1 }),
    success: { status: 200, body: ApiKey },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params, body }, { usage }) => updateApiKey(work, usage, params.id, body),
  }),
  route({
    id: "api_keys.rotate",
    method: "POST",
    path: "/api/v1/api-keys/{id}/rotate",
    summary: "Give a key a new value; the old one works until the grace period ends",
    description:
      "Id, name, scopes and expiry stay. The caller needs all rights that the key has and, for " +
      "another person's key, what it takes to give that person their roles. " +
      "The grace period ends at the latest when the key expires; until then the old value cannot " +
      "manage keys, and answers to it carry `Deprecation` and `Sunset`. With `grace_period_hours` " +
      "0 the old value is dead before the answer, the status is `active` and `grace_period_ends` " +
      "is the instant of the rotation. A rotation during the grace period is a CONFLICT, and of " +
      "several at once one succeeds.",
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
    summary: "Revoke a key, and with `cascade` what was made with it",
    description:
      "The key stops working before this answers. `would_end` lists what was made with it and still " +
      "works: keys and what those made in turn, keys whose present value it got by rotation, pairing " +
      "codes, devices, ingest tokens, webhooks, integrations, repositories with their policies, " +
      "invitations, people who joined by them, and roles. With `cascade` those end too, each in a " +
      "step of its own, at most 1,000 a request, and `ended` lists them; what is left stands in " +
      "`would_end`, with a reason where it cannot be ended, and the same request again goes on. " +
      "A cascade takes, for each kind that is there, what ending one takes: system:write, for " +
      "repositories policy:write, for devices and their codes agents:admin; a person is switched " +
      "off only by somebody who could give their roles. `dry_run` changes nothing. Each list names " +
      "at most 200; the totals count up to 10,000.",
    access: { signedIn: true },
    effect: "steps",
    audit: { byRule: "api_key_revoked, and with a cascade the event of each thing that ends" },
    params: IdParams,
    body: z.strictObject({
      cascade: z.boolean().default(false).meta({ description: "End what it made, too." }),
      dry_run: z.boolean().default(false).meta({ description: "Only answer what would end." }),
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
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }, { usage }) => deleteApiKey(work, usage, params.id),
  }),
];
