import type { Relay } from "../core/relay.ts";
import { MCP_RESOURCES } from "../core/access/access.ts";
import { authenticatorAt } from "../routes/http/identify.ts";
import { hasCredential } from "../routes/http/request.ts";
import type { Service } from "../routes/http/serve_service.ts";
import type { Route } from "../routes/call/route.ts";
import { METHODS } from "./methods.ts";
import { makeServer } from "./server.ts";
import { McpQuery } from "./tools.ts";
import { oauthServices } from "./transport/oauth_endpoints.ts";
import { challenge, metadataServices } from "./transport/oauth_metadata.ts";
import { handle } from "./transport/handle.ts";

/** The protocol's endpoints, and how their open streams end. */
export interface Mcp {
  readonly services: readonly Service[];
  readonly close: () => void;
}

/**
 * Serves the routes that are tools by the Model Context Protocol. `methods` is the protocol's table; a test
 * server may pass one with more methods, tools or prompts.
 */
export function serveMcp(relay: Relay, routes: readonly Route[], methods = METHODS): Mcp {
  const server = makeServer(relay, routes, methods);
  const at = (path: typeof MCP_RESOURCES[number], alwaysStreams: boolean): Service => ({
    path,
    methods: ["POST", "GET", "DELETE"],
    call: "mcp",
    authenticate: authenticatorAt(path),
    query: McpQuery,
    challenge: (relay, request) =>
      challenge(relay, request, hasCredential(request.headers) ? { error: "invalid_token" } : {}),
    handle: (visit) => handle(server, visit, alwaysStreams),
  });
  return {
    services: [
      at("/mcp", false),
      at("/mcp/stream", true),
      ...metadataServices(MCP_RESOURCES),
      ...oauthServices,
    ],
    close: () => server.listeners.close(),
  };
}
