import type { FaultCode } from "../core/fault.ts";
import type { Scope } from "../core/scopes.ts";
import { AGENT_PROTOCOL } from "../core/protocol.ts";
import { faultResponses } from "./_openapi_faults.ts";
import type { ApiResponse, Operation } from "./_openapi_types.ts";

const RIGHT: Scope = "agents:admin";
const FAULTS_OF_SOCKET: readonly FaultCode[] = [
  "VALIDATION_FAILED",
  "MISSING_CREDENTIALS",
  "INVALID_TOKEN",
  "INVALID_API_KEY",
  "INSUFFICIENT_SCOPES",
  "FORBIDDEN",
  "UPGRADE_REQUIRED",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "UNAVAILABLE",
];

/** The agent's link, which leaves HTTP and so is no route. */
export function socketOperation(components: Record<string, ApiResponse>): Operation {
  const protocol = { type: "string", enum: [AGENT_PROTOCOL] };
  return {
    operationId: "agents.link",
    tags: ["agents"],
    summary: "Connect an agent by WebSocket",
    description:
      `An agent's link to Relay, with the subprotocol \`${AGENT_PROTOCOL}\`: JSON text ` +
      "frames, described in docs/agent-protocol.md. A refusal before the upgrade is an ordinary " +
      `error; after it, a close code tells why.\n\nNeeds an API key with \`${RIGHT}\`.`,
    security: [{ bearer_api_key: [RIGHT] }, { api_key_header: [RIGHT] }],
    parameters: [
      {
        name: "Sec-WebSocket-Protocol",
        in: "header",
        required: true,
        description: "The subprotocols that the client speaks.",
        schema: protocol,
      },
    ],
    responses: {
      "101": {
        description: "The link is open.",
        headers: {
          "Sec-WebSocket-Protocol": {
            description: "The subprotocol that both sides speak from here on.",
            schema: protocol,
          },
        },
      },
      ...faultResponses(FAULTS_OF_SOCKET, components),
    },
    "x-effect": "upgrade",
    "x-required-scopes": [RIGHT],
  };
}
