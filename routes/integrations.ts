import { z } from "zod";
import {
  adoptIntegration,
  beginFlow,
  finishFlow,
  FLOW_COOKIE,
  installIntegration,
  INTEGRATION_TYPES,
  listCatalog,
  listIntegrations,
  removeIntegration,
} from "../core/delivery/delivery.ts";
import { publicOrigin } from "../core/context/context.ts";
import { INTEGRATION_STATUSES } from "../kv/records/integration.ts";
import { route } from "./call/route.ts";
import {
  ADOPTION,
  boundedObject,
  CreatedWith,
  DeletedResource,
  Id,
  IdParams,
  JsonObject,
  listOf,
  Name,
  PageQuery,
  Sent,
  standing,
  Timestamp,
} from "./schemas/schemas.ts";

const CONFIG_BYTES_MAX = 16 * 1024;

const Type = z.enum(INTEGRATION_TYPES).meta({ id: "IntegrationType" });

const Integration = z.object({
  id: z.string(),
  type: Type,
  name: z.string(),
  status: z.enum(INTEGRATION_STATUSES).meta({
    description: "`pending` until the OAuth flow is complete; `expired` when it must be repeated.",
  }),
  oauth: z.boolean().meta({ description: "True when it authenticates by OAuth." }),
  config: JsonObject.meta({ description: "The configuration, with secrets masked." }),
  ...standing,
  created_by: z.string(),
  created_with: CreatedWith,
  created_at: Timestamp,
  last_used_at: Timestamp.nullable(),
  last_error: z.string().nullable(),
  token_expires_at: Timestamp.nullable(),
}).meta({ id: "Integration" });

const CatalogEntry = z.object({
  type: Type,
  name: z.string(),
  description: z.string(),
  category: z.enum(["chat", "incidents", "issues", "repositories", "generic"]),
  capabilities: z.array(z.enum(["notifications", "repositories", "oauth"])),
  secrets: z.array(z.string()).meta({
    description: "Fields that are stored encrypted and masked in responses.",
  }),
  config_schema: JsonObject.meta({ description: "The JSON Schema of `config`." }),
}).meta({ id: "CatalogEntry" });

export const integrationRoutes = [
  route({
    id: "integrations.catalog",
    method: "GET",
    path: "/api/integrations/catalog",
    summary: "List the integration catalog",
    description: "Includes the JSON Schema of each configuration.",
    access: { scope: "catalog:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("catalog", CatalogEntry) },
    faults: [],
    tool: { name: "list_integration_catalog", destructive: false },
    handle: (work, { query }) => listCatalog(work, query),
  }),
  route({
    id: "integrations.install",
    method: "POST",
    path: "/api/integrations",
    summary: "Install an integration",
    description:
      "Its secrets are stored encrypted and masked in every response. An integration that " +
      "authenticates by OAuth is `pending` until its flow is complete. The caller needs the " +
      "rights of the topics.",
    access: { scope: "system:write" },
    liveOnly: true,
    effect: "write",
    audit: {
      event: "integration_installed",
      resource: "integration",
      id: ({ id }) => id,
      details: ({ name, type }) => ({ name, type }),
    },
    body: z.strictObject({
      type: Type,
      config: boundedObject(CONFIG_BYTES_MAX).default({}),
      name: Name.optional(),
    }),
    rules: {
      "body.config": "must have the fields that the catalog lists for the type",
    },
    success: { status: 201, body: Integration },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { integrations }) => installIntegration(work, integrations, body),
  }),
  route({
    id: "integrations.list",
    method: "GET",
    path: "/api/integrations",
    summary: "List installed integrations, newest first",
    access: { scope: "system:read" },
    liveOnly: true,
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("integrations", Integration) },
    faults: [],
    tool: { name: "list_integrations", destructive: false },
    handle: (work, { query }) => listIntegrations(work, query),
  }),
  route({
    id: "integrations.adopt",
    method: "POST",
    path: "/api/integrations/{id}/adopt",
    summary: "Adopt a suspended integration",
    description: ADOPTION,
    access: { scope: "system:write" },
    liveOnly: true,
    effect: "write",
    audit: { byRule: "standing_adopted" },
    params: IdParams,
    success: { status: 200, body: Integration },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }) => adoptIntegration(work, params.id),
  }),
  route({
    id: "integrations.delete",
    method: "DELETE",
    path: "/api/integrations/{id}",
    summary: "Remove an integration",
    description:
      "Tokens obtained by OAuth are revoked if the provider supports it; failed attempts are " +
      "retried. Tokens entered by hand stay valid.",
    access: { scope: "system:write" },
    liveOnly: true,
    effect: "write",
    audit: { byRule: "integration_removed" },
    params: IdParams,
    success: { status: 204, about: DeletedResource },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => removeIntegration(work, params.id),
  }),
  route({
    id: "integrations.oauth_begin",
    method: "POST",
    path: "/api/integrations/oauth/begin",
    summary: "Begin an OAuth flow",
    description:
      "Send the browser to `authorize_url`. The flow is an authorization code flow with PKCE. " +
      "The state is bound to the user, the organization and the integration, works once and " +
      "expires after ten minutes. The cookie lets the browser return without an Authorization " +
      "header.",
    access: { scope: "system:write" },
    liveOnly: true,
    noStore: true,
    effect: "steps",
    audit: { byRule: "integration_flow_begun" },
    body: z.strictObject({
      integration_id: Id,
      to_console: z.boolean().optional().meta({
        description: "Whether the callback sends the browser to the console, instead of JSON.",
      }),
    }),
    success: {
      status: 200,
      body: z.object({ authorize_url: z.url(), state: z.string(), expires_at: Timestamp }),
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT", "UNAVAILABLE"],
    handle: (work, { body }, { settings }) => beginFlow(work, publicOrigin(settings), body),
  }),
  route({
    id: "integrations.oauth_callback",
    method: "GET",
    path: "/api/integrations/oauth/callback",
    summary: "Complete an OAuth flow",
    description:
      "Only the user who began the flow may complete it, with their credential or the cookie " +
      "set by begin; any other user gets 403. They must still have `system:write`. `iss` is " +
      "checked if given. A state works once, whatever the outcome.",
    access: { signedIn: true, orCookie: FLOW_COOKIE },
    liveOnly: true,
    noStore: true,
    effect: "steps",
    audit: { byRule: "integration_connected or integration_refused" },
    query: z.looseObject({
      state: Sent.meta({ description: "The state from begin." }),
      code: Sent.meta({ description: "The authorization code." }),
      iss: Sent.meta({ description: "The issuer (RFC 9207)." }),
      error: Sent.meta({ description: "The provider's error, such as `access_denied`." }),
    }),
    rules: {
      "query.state": "must belong to an open flow begun within the last ten minutes",
    },
    success: {
      status: 200,
      body: Integration,
      orLocation:
        "After a begin with `to_console`: `/console/integrations?connected=<id>`, or after a " +
        "failure `/console/integrations?connect_failed=<error code>`.",
    },
    faults: ["NOT_FOUND", "FORBIDDEN", "INSUFFICIENT_SCOPES", "CONFLICT", "UNAVAILABLE"],
    handle: (work, { query: { state, code, iss, error } }, { authenticator, settings }) =>
      finishFlow(work, { origin: publicOrigin(settings), authenticator }, {
        state,
        code,
        iss,
        error,
      }),
  }),
];
