import type { FaultCode } from "../../core/fault/fault.ts";
import { BODY_BYTES_MAX } from "../http/body.ts";
import { CODE, DETAILS, ERROR, EVERY_RESPONSE, faultResponses } from "./faults.ts";
import type { ApiResponse, JsonSchema, Operation } from "./types.ts";

const FAULTS_OF_MCP: readonly FaultCode[] = [
  "VALIDATION_FAILED",
  "MISSING_CREDENTIALS",
  "INVALID_TOKEN",
  "INVALID_API_KEY",
  "INSUFFICIENT_SCOPES",
  "FORBIDDEN",
  "NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "NOT_ACCEPTABLE",
  "REQUEST_TIMEOUT",
  "PAYLOAD_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "UNAVAILABLE",
];

const ID_CHARS_MAX = 256;

const ID: JsonSchema = {
  anyOf: [
    { type: "string", maxLength: ID_CHARS_MAX },
    { type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER },
  ],
};

/** The schemas of the protocol's messages. */
export const MCP_SCHEMAS: Readonly<Record<string, JsonSchema>> = {
  RpcRequest: {
    type: "object",
    properties: {
      jsonrpc: { type: "string", enum: ["2.0"] },
      id: { ...ID, description: "Absent in a notification, which gets no response." },
      method: {
        type: "string",
        maxLength: ID_CHARS_MAX,
        examples: ["tools/list", "tools/call"],
      },
      params: { type: "object" },
    },
    required: ["jsonrpc", "method"],
  },
  RpcResponse: {
    type: "object",
    description: "Has `result`, or `error` when the call was refused.",
    properties: {
      jsonrpc: { type: "string", enum: ["2.0"] },
      id: {
        anyOf: [...ID.anyOf!, { type: "null" }],
        description: "The id of the request; null when it could not be read, as for a batch.",
      },
      result: { type: "object" },
      error: { $ref: "#/components/schemas/RpcError" },
    },
    required: ["jsonrpc", "id"],
  },
  RpcError: {
    type: "object",
    description: "A JSON-RPC error object.",
    properties: {
      code: {
        type: "integer",
        description: "The code that JSON-RPC or MCP defines, or else the HTTP status.",
      },
      message: { type: "string" },
      data: {
        type: "object",
        description: "The members of this API's error object, and those that MCP requires.",
        properties: {
          code: CODE,
          details: DETAILS,
        },
        required: ["code", "details"],
        additionalProperties: {},
      },
    },
    required: ["code", "message", "data"],
  },
};

const RESPONSE: JsonSchema = { $ref: "#/components/schemas/RpcResponse" };
const REFUSAL: JsonSchema = { anyOf: [ERROR, RESPONSE] };

const KINDS = {
  "/mcp": { id: "mcp.call", answers: "are JSON or events, as the client accepts" },
  "/mcp/stream": { id: "mcp.stream", answers: "are always events" },
} as const;

/** The operations of the Model Context Protocol, whose paths are not routes. */
export function mcpOperations(
  components: Record<string, ApiResponse>,
): Record<string, Record<"post" | "get" | "delete", Operation>> {
  const refusals = faultResponses(FAULTS_OF_MCP, components, { prefix: "Mcp", schema: REFUSAL });
  return Object.fromEntries(
    Object.entries(KINDS).map(([path, { id, answers }]) => [path, {
      post: call(id, answers, refusals),
      get: {
        ...inSession(`${id}.listen`, "Open a session's event stream"),
        responses: {
          "200": { description: "The event stream.", headers: EVERY_RESPONSE, content: EVENTS },
          ...refusals,
        },
      },
      delete: {
        ...inSession(`${id}.end`, "End a session"),
        responses: {
          "204": { description: "The session has ended.", headers: EVERY_RESPONSE },
          ...refusals,
        },
      },
    }]),
  );
}

const SECURITY = [{}, { bearer_jwt: [] }, { bearer_api_key: [] }, { api_key_header: [] }];
const EVENTS = { "text/event-stream": { schema: {} } };

function inSession(operationId: string, summary: string): Omit<Operation, "responses"> {
  return {
    operationId,
    tags: ["mcp"],
    summary,
    description: "For protocol revisions up to 2025-11-25. See docs/mcp.md.",
    security: SECURITY,
    parameters: [{
      name: "Mcp-Session-Id",
      in: "header",
      required: true,
      description: "The session id from the response to `initialize`.",
      schema: { type: "string" },
    }],
    "x-rules": { "headers.mcp-session-id": "must be one of the caller's sessions" },
    "x-effect": "protocol",
  };
}

function call(operationId: string, answers: string, refusals: Operation["responses"]): Operation {
  return {
    operationId,
    tags: ["mcp"],
    summary: "Send a Model Context Protocol message",
    description:
      `The protocol is JSON-RPC 2.0; responses ${answers}. Endpoints that are MCP tools are ` +
      "called here with the same checks: see docs/mcp.md. A refusal before the message is read " +
      "has this API's error object. A later one has a JSON-RPC error object, with the same " +
      "code in `error.data.code`.\n\nA credential is optional; without one only public tools " +
      "can be called.",
    security: SECURITY,
    parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }],
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/RpcRequest" } } },
    },
    responses: {
      "200": {
        description: "The response.",
        headers: EVERY_RESPONSE,
        content: { "application/json": { schema: RESPONSE }, ...EVENTS },
      },
      "202": { description: "The notification was accepted.", headers: EVERY_RESPONSE },
      ...refusals,
    },
    "x-effect": "protocol",
    "x-body-bytes-max": BODY_BYTES_MAX,
  };
}
