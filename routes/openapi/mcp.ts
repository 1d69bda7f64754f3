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
      id: { ...ID, description: "Left out in a notification, which is not answered." },
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
    description: "`result`, or `error` when the call was refused.",
    properties: {
      jsonrpc: { type: "string", enum: ["2.0"] },
      id: {
        anyOf: [...ID.anyOf!, { type: "null" }],
        description: "The request's; null where none could be read, as of a batch.",
      },
      result: { type: "object" },
      error: { $ref: "#/components/schemas/RpcError" },
    },
    required: ["jsonrpc", "id"],
  },
  RpcError: {
    type: "object",
    description: "The error object of JSON-RPC.",
    properties: {
      code: {
        type: "integer",
        description:
          "Of JSON-RPC or the protocol where they define one, the HTTP status otherwise.",
      },
      message: { type: "string" },
      data: {
        type: "object",
        description: "The same as the error object of this interface says, and what the protocol " +
          "asks for beside it.",
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
  "/mcp": { id: "mcp.call", answers: "JSON, or events, as the client accepts" },
  "/mcp/stream": { id: "mcp.stream", answers: "events, always" },
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
        ...inSession(`${id}.listen`, "The events of a session, of revisions up to 2025-11-25"),
        responses: {
          "200": { description: "Events.", headers: EVERY_RESPONSE, content: EVENTS },
          ...refusals,
        },
      },
      delete: {
        ...inSession(`${id}.end`, "End a session, of revisions up to 2025-11-25"),
        responses: {
          "204": { description: "It has ended.", headers: EVERY_RESPONSE },
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
    description: "See docs/mcp.md.",
    security: SECURITY,
    parameters: [{
      name: "Mcp-Session-Id",
      in: "header",
      required: true,
      description: "The session, as the answer to `initialize` named it.",
      schema: { type: "string" },
    }],
    "x-rules": { "headers.mcp-session-id": "names a session of the caller's" },
    "x-effect": "protocol",
  };
}

function call(operationId: string, answers: string, refusals: Operation["responses"]): Operation {
  return {
    operationId,
    tags: ["mcp"],
    summary: "The Model Context Protocol",
    description: `JSON-RPC 2.0; answers ${answers}. Endpoints that are MCP tools are called here ` +
      "under the same checks: docs/mcp.md. A refusal before the message is read has the error object " +
      "of this interface; one after it has the error object of JSON-RPC, with the same code in " +
      "`error.data.code`.\n\n" +
      "A credential is optional; without one only public tools can be called.",
    security: SECURITY,
    parameters: [{ $ref: "#/components/parameters/IdempotencyKey" }],
    requestBody: {
      required: true,
      content: { "application/json": { schema: { $ref: "#/components/schemas/RpcRequest" } } },
    },
    responses: {
      "200": {
        description: "The answer.",
        headers: EVERY_RESPONSE,
        content: { "application/json": { schema: RESPONSE }, ...EVENTS },
      },
      "202": { description: "A notification was taken.", headers: EVERY_RESPONSE },
      ...refusals,
    },
    "x-effect": "protocol",
    "x-body-bytes-max": BODY_BYTES_MAX,
  };
}
