import type { RelayError } from "../../../client/client.ts";
import { MCP_NAME_MEMBERS } from "../../../protocol/protocol.ts";

const META_VERSION = "io.modelcontextprotocol/protocolVersion";
export const META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";
/** A repetition of a call with such a key has no effect. */
const META_KEY = "relay/idempotencyKey";

type Fields = Readonly<Record<string, unknown>>;

/** A JSON-RPC message, as far as this program looks into it. */
export interface Message {
  readonly id?: unknown;
  /** Null for an answer. */
  readonly method: string | null;
  readonly params: Fields;
  /** True when it wants an answer. */
  readonly asks: boolean;
  /** Its JSON. */
  readonly text: string;
}

const PARSE_ERROR = -32700;
const INVALID_REQUEST = -32600;

/** The message of a line, or the error code for one that holds none. */
export function messageOf(text: string): Message | number {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return PARSE_ERROR;
  }
  if (!isFields(value)) return INVALID_REQUEST;
  const { id, method, params } = value;
  return {
    id,
    method: typeof method === "string" ? method : null,
    params: isFields(params) ? params : {},
    asks: id !== undefined && !("result" in value || "error" in value),
    text,
  };
}

/** The revision that a request without a session names, since 2026-07-28; null for others. */
export const versionIn = ({ params }: Message): string | null => {
  const version = isFields(params._meta) ? params._meta[META_VERSION] : null;
  return typeof version === "string" ? version : null;
};

/** True when sending the request twice does no more than sending it once. */
export const isRepeatable = ({ method, params }: Message): boolean =>
  method !== "tools/call" || (isFields(params._meta) && params._meta[META_KEY] !== undefined);

/** The headers that repeat what the body says, in the revisions that want it. */
export function repeatedHeaders(message: Message): Record<string, string> {
  const version = versionIn(message);
  const { method, params } = message;
  if (version === null || method === null) return {};
  const named = params[MCP_NAME_MEMBERS[method] ?? ""];
  return {
    "mcp-protocol-version": headerText(version),
    "mcp-method": headerText(method),
    ...(typeof named === "string" && { "mcp-name": headerText(named) }),
  };
}

/** A text as a header holds it: in base64 when it has other characters than a header may have. */
function headerText(text: string): string {
  if (/^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(text) && !text.startsWith("=?")) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(String.fromCharCode(...bytes.subarray(0, NAME_BYTES_MAX)))}?=`;
}

/** Longer names are cut, and so refused. */
const NAME_BYTES_MAX = 4_096;

/** The JSON of a notification. */
export const notification = (method: string, params?: Fields): string =>
  JSON.stringify({ jsonrpc: "2.0", method, ...(params && { params }) });

/** The JSON of an error. */
export const errorText = (id: unknown, code: number, message: string, data: Fields): string =>
  JSON.stringify({ jsonrpc: "2.0", id: id ?? null, error: { code, message, data } });

const UNAVAILABLE = 503;

/** A failed request as its answer; codes are those that the relay uses. */
export function failureText(message: Message, error: RelayError): string {
  const { code, status, details } = error;
  const ran = code === "UNREACHED" && !isRepeatable(message) && details.sent !== false
    ? " The call may have had its effect: look with list_commands before you repeat it."
    : "";
  return errorText(message.id, status || UNAVAILABLE, `${error.message}${ran}`, { code, details });
}

export const isFields = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value);
