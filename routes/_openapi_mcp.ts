import type { FaultCode } from "../core/fault.ts";
import { BODY_BYTES_MAX } from "./_input.ts";
import { EVERY_RESPONSE, faultResponses } from "./_openapi_faults.ts";
import type { ApiResponse, JsonSchema, Operation } from "./_openapi_types.ts";

const FAULTS_OF_MCP: readonly FaultCode[] = [
  "VALIDATION_FAILED",
  "INVALID_TOKEN",
  "INVALID_API_KEY",
  "FORBIDDEN",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "NOT_ACCEPTABLE",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "UNAVAILABLE",
];

const REQUEST: JsonSchema = {
  type: "object",
  properties: {
    jsonrpc: { type: "string", const: "2.0" },
    id: { type: ["string", "integer"] },
    method: { type: "string", examples: ["tools/list", "tools/call"] },
    params: { type: "object" },
  },
  required: ["jsonrpc", "method"],
};

const RESPONSE: JsonSchema = {
  type: "object",
  properties: {
    jsonrpc: { type: "string", const: "2.0" },
    id: { type: ["string", "integer", "null"] },
    result: { type: "object" },
    error: { type: "object", description: "The error object of JSON-RPC." },
  },
  required: ["jsonrpc"],
};

const KINDS = {
  "/mcp": { id: "mcp.call", answers: "JSON, or events, as the client accepts" },
  "/mcp/stream": { id: "mcp.stream", answers: "events, always" },
} as const;

/** The paths of the Model Context Protocol, which is no list of endpoints and so no routes. */
export function mcpOperations(
  components: Record<string, ApiResponse>,
): Record<string, { post: Operation }> {
  return Object.fromEntries(
    Object.entries(KINDS).map(([path, { id, answers }]) => [path, {
      post: operation(id, answers, path === "/mcp", components),
    }]),
  );
}

function operation(
  operationId: string,
  answers: string,
  json: boolean,
  components: Record<string, ApiResponse>,
): Operation {
  return {
    operationId,
    tags: ["mcp"],
    summary: "The Model Context Protocol",
    description: `JSON-RPC 2.0; answers ${answers}. Endpoints that are MCP tools are called here ` +
      "under the same checks: docs/mcp.md. A refusal in the protocol's words has the error object of " +
      "JSON-RPC; one before the body is read has the error object of this interface.\n\n" +
      "A credential is optional; without one only public tools can be called.",
    security: [{}, { bearer_jwt: [] }, { bearer_api_key: [] }, { api_key_header: [] }],
    parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }],
    requestBody: { required: true, content: { "application/json": { schema: REQUEST } } },
    responses: {
      "200": {
        description: "The answer.",
        headers: EVERY_RESPONSE,
        content: {
          ...(json && { "application/json": { schema: RESPONSE } }),
          "text/event-stream": { schema: { type: "string" } },
        },
      },
      "202": { description: "A notification was taken.", headers: EVERY_RESPONSE },
      ...faultResponses(FAULTS_OF_MCP, components),
    },
    "x-effect": "protocol",
    "x-body-bytes-max": BODY_BYTES_MAX,
  };
}
