import { z } from "zod";
import { decideConsent, endMcpClient, listMcpClients, readConsent } from "../core/access/access.ts";
import { route } from "./call/route.ts";
import { IdParams, listOf, PageQuery, ScopeName, Space, Timestamp } from "./schemas/schemas.ts";

const Text = z.string().min(1).max(1024);

/** The query of an authorization request (OAuth 2.1), as a body. */
const AuthorizationRequest = z.strictObject({
  response_type: z.literal("code"),
  client_id: Text.meta({
    description: "A registered client's id, or the address of a client's metadata document.",
  }),
  redirect_uri: Text,
  code_challenge: z.string().regex(/^[A-Za-z0-9_-]{43}$/, "must be a SHA-256 in base64url")
    .meta({ examples: ["E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM"] }),
  code_challenge_method: z.literal("S256"),
  state: z.string().max(2048).optional(),
  scope: z.string().max(1024).optional().meta({
    description: "Scopes, separated by spaces; all when absent. Unknown ones are left out.",
  }),
  resource: z.string().max(1024).optional().meta({
    description: "The MCP address that the tokens are for; `/mcp` of this relay when absent.",
  }),
});
const RULES = {
  "body.client_id": "must be a client that is known here",
  "body.redirect_uri":
    "must be an address that the client has registered; on loopback any port is the same",
  "body.resource": "must be an MCP address of this relay",
  "body.scope": "must name a right of this relay",
};

const Consent = z.object({
  name: z.string().meta({ description: "The name that the client gave itself." }),
  client_host: z.string().nullable().meta({
    description: "The host of its metadata document; null for a client that registered itself.",
  }),
  redirect_uri: z.string().meta({ description: "Where the browser goes after the decision." }),
  resource: z.string(),
  scopes: z.array(ScopeName),
}).meta({ id: "McpConsent" });

const McpClient = z.object({
  id: z.string(),
  name: z.string().meta({ description: "The name that the client gave itself." }),
  client_id: z.string(),
  redirect_uri: z.string(),
  resource: z.string().meta({ description: "The path of the MCP address of its tokens." }),
  scopes: z.array(ScopeName),
  space: Space,
  address: z.string().meta({ description: "The network address of the browser that approved it." }),
  created_at: Timestamp,
  refreshed_at: Timestamp.nullable(),
  expires_at: Timestamp.meta({ description: "When it ends unless it refreshes its tokens." }),
}).meta({ id: "McpClient" });

export const mcpClientRoutes = [
  route({
    id: "mcp_clients.read_request",
    method: "POST",
    path: "/api/account/mcp-clients/request",
    summary: "Show what an MCP client asks for",
    description:
      "The console's page at /console/authorize sends the query of an authorization request " +
      "here, and shows the answer to the person.",
    access: { signedIn: true },
    effect: "read",
    body: AuthorizationRequest,
    rules: RULES,
    success: { status: 200, body: Consent },
    faults: ["FORBIDDEN"],
    handle: (work, { body }, { mcpClients }) => readConsent(work, mcpClients, body),
  }),
  route({
    id: "mcp_clients.decide",
    method: "POST",
    path: "/api/account/mcp-clients/decide",
    summary: "Let an MCP client act for you, or refuse it",
    description:
      "After an approval `redirect_to` has a code, which the client exchanges within 60 seconds " +
      "and once. Its tokens have your rights of the moment, within the scopes that you chose, " +
      "and only at the MCP address. Only a signed-in user may decide, an API key may not.",
    access: { signedIn: true },
    effect: "steps",
    liveOnly: true,
    noStore: true,
    audit: { byRule: "mcp_client_approved or mcp_client_refused" },
    body: AuthorizationRequest.extend({
      approve: z.boolean(),
      scopes: z.array(ScopeName).min(1).max(64).optional().meta({
        description: "Those that the client gets; all that it asks for when absent.",
      }),
      space: Space.default("live").meta({ description: "The space that the client works in." }),
    }),
    rules: {
      ...RULES,
      "body.scopes": "must be among the scopes that the client asks for",
    },
    success: {
      status: 200,
      body: z.object({
        redirect_to: z.string().meta({ description: "Where the browser goes now." }),
      }),
    },
    faults: ["FORBIDDEN"],
    handle: (work, { body }, { mcpClients }) => decideConsent(work, mcpClients, body),
  }),
  route({
    id: "mcp_clients.list",
    method: "GET",
    path: "/api/account/mcp-clients",
    summary: "List the MCP clients that act for you, newest first",
    access: { signedIn: true },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("clients", McpClient) },
    faults: ["FORBIDDEN"],
    handle: (work, { query }) => listMcpClients(work, query),
  }),
  route({
    id: "mcp_clients.end",
    method: "DELETE",
    path: "/api/account/mcp-clients/{id}",
    summary: "End an MCP client that acts for you",
    description: "All its tokens end before this answers.",
    access: { signedIn: true },
    effect: "write",
    liveOnly: true,
    audit: { byRule: "mcp_client_ended" },
    params: IdParams,
    success: { status: 204, about: z.null() },
    faults: ["NOT_FOUND", "FORBIDDEN"],
    handle: (work, { params }) => endMcpClient(work, params.id),
  }),
];
