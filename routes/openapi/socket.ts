import { AGENT_RIGHT } from "../../core/agents/agents.ts";
import type { FaultCode } from "../../core/fault/fault.ts";
import { AGENT_PROTOCOL } from "../../core/protocol/protocol.ts";
import { EVENT_RIGHTS } from "../../core/events/events.ts";
import { EVERY_RESPONSE, faultResponses } from "./faults.ts";
import type { ApiResponse, Operation, Parameter } from "./types.ts";
import { BATCHES_PROTOCOL, EVENTS_PROTOCOL, STREAM_PROTOCOLS } from "../http/protocols.ts";

const FAULTS_OF_SOCKET: readonly FaultCode[] = [
  "VALIDATION_FAILED",
  "MISSING_CREDENTIALS",
  "INVALID_TOKEN",
  "INVALID_API_KEY",
  "INSUFFICIENT_SCOPES",
  "FORBIDDEN",
  "METHOD_NOT_ALLOWED",
  "UPGRADE_REQUIRED",
  "RATE_LIMIT_EXCEEDED",
  "INTERNAL_ERROR",
  "UNAVAILABLE",
];
const RIGHTS = [AGENT_RIGHT, ...EVENT_RIGHTS];
const SCHEMES = ["bearer_jwt", "bearer_api_key", "api_key_header"];

/** The subprotocols of a socket. */
export const SOCKET_SCHEMAS = {
  Subprotocol: { type: "string", enum: [...STREAM_PROTOCOLS, AGENT_PROTOCOL] },
} as const;
const PROTOCOL = { $ref: "#/components/schemas/Subprotocol" };

/** The operation of `/ws`, which is not a route. `query` holds the parameters of an event stream. */
export function socketOperation(
  query: readonly Parameter[],
  components: Record<string, ApiResponse>,
): Operation {
  return {
    operationId: "socket.open",
    tags: ["agents"],
    summary: "Open an event stream or an agent's link",
    description:
      `With the subprotocol \`${EVENTS_PROTOCOL}\`, \`${BATCHES_PROTOCOL}\` or none, it is a ` +
      "stream of events, which the parameters select: see docs/streams.md. It requires a JWT or an API key with one of " +
      `${
        EVENT_RIGHTS.map((right) => `\`${right}\``).join(", ")
      }. With \`${AGENT_PROTOCOL}\`, it is ` +
      "an agent's link, which takes no parameters: see docs/agent-protocol.md. It requires an API key with " +
      `\`${AGENT_RIGHT}\` or a device's credential. A refusal before the upgrade is an ordinary ` +
      "error; a later one closes the socket with a code.",
    security: RIGHTS.flatMap((right) => SCHEMES.map((scheme) => ({ [scheme]: [right] }))),
    parameters: [
      ...query,
      {
        name: "Sec-WebSocket-Protocol",
        in: "header",
        required: false,
        description: "The subprotocols that the client supports.",
        schema: PROTOCOL,
      },
    ],
    responses: {
      "101": {
        description: "The socket is open.",
        headers: {
          ...EVERY_RESPONSE,
          "Sec-WebSocket-Protocol": {
            description: "The subprotocol in use, if one was offered.",
            schema: PROTOCOL,
          },
        },
      },
      ...faultResponses(FAULTS_OF_SOCKET, components),
    },
    "x-effect": "upgrade",
    "x-required-scopes": RIGHTS,
  };
}
