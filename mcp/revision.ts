import { Buffer } from "node:buffer";
import { MCP_NAME_MEMBERS } from "../core/protocol/protocol.ts";
import {
  CODES,
  CURRENT,
  isObject,
  type Message,
  OLDER,
  type Params,
  RpcError,
} from "./json_rpc.ts";

const META_VERSION = "io.modelcontextprotocol/protocolVersion";
const META_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
export const META_LOG_LEVEL = "io.modelcontextprotocol/logLevel";
export const META_SERVER = "io.modelcontextprotocol/serverInfo";
export const META_SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId";

/**
 * The form of a request: of the current revision, of the older revisions with sessions, or plain, which names
 * no version.
 */
export type Era = "modern" | "legacy" | "plain";

/** The era of a request. */
export function eraOf(headers: Headers, { method, params }: Message): Era {
  const version = headers.get("mcp-protocol-version");
  const older = version !== null && (OLDER as readonly string[]).includes(version);
  const says = isObject(params._meta) && META_VERSION in params._meta;
  if (says || (version !== null && !older)) return "modern";
  if (older || headers.has("mcp-session-id") || method === "initialize") return "legacy";
  return "plain";
}

/**
 * Checks the headers and `_meta` of a request of the current revision, and returns the client's capabilities.
 * @throws {RpcError} headerMismatch, invalidParams, unsupportedVersion
 */
export function checkModern(headers: Headers, { method, params }: Message): Params {
  const meta = isObject(params._meta) ? params._meta : {};
  const said = headers.get("mcp-protocol-version");
  const meant = meta[META_VERSION];
  if (said !== CURRENT && (meant === undefined || meant === said)) throw unsupported(said);
  if (typeof meant !== "string") throw badMeta(`\`_meta["${META_VERSION}"]\` must be a string.`);
  if (said !== meant) {
    throw mismatch(`MCP-Protocol-Version is ${show(said)}, but \`_meta\` says ${show(meant)}.`);
  }
  const capabilities = meta[META_CAPABILITIES];
  if (!isObject(capabilities)) {
    throw badMeta(`\`_meta["${META_CAPABILITIES}"]\` must be an object.`);
  }
  if (headers.get("mcp-method")?.trim() !== method) {
    throw mismatch(
      `Mcp-Method is ${show(headers.get("mcp-method"))}, but the body says ${method}.`,
    );
  }
  const member = MCP_NAME_MEMBERS[method];
  if (member !== undefined && typeof params[member] === "string") {
    checkHeader(headers, "Mcp-Name", params[member]);
  }
  return capabilities;
}

/**
 * Compares a header with the value in the body.
 * @throws {RpcError} headerMismatch
 */
export function checkHeader(headers: Headers, name: string, value: string): void {
  const header = headers.get(name);
  if (header === null || decodeHeader(name, header.trim()) !== value) {
    throw mismatch(`${name} is ${show(header)}, which differs from the body.`);
  }
}

const SENTINEL = /^=\?base64\?(.*)\?=$/i;

/** The text of a header, which is base64 between marks when a header cannot hold it. */
function decodeHeader(name: string, value: string): string {
  const encoded = SENTINEL.exec(value)?.[1];
  if (encoded === undefined) return value;
  const bytes = Buffer.from(encoded, "base64");
  if (bytes.toString("base64") !== encoded) {
    throw mismatch(`${name} holds invalid base64.`);
  }
  return bytes.toString();
}

const mismatch = (why: string) => new RpcError(CODES.headerMismatch, why, { status: 400 });
const badMeta = (why: string) => new RpcError(CODES.invalidParams, why, { status: 400 });
const show = (value: string | null) =>
  value === null ? "missing" : JSON.stringify(value.slice(0, 100));

function unsupported(requested: string | null): RpcError {
  const message = `The protocol version ${show(requested)} is not supported.`;
  const data = { supported: [CURRENT], requested };
  return new RpcError(CODES.unsupportedVersion, message, { status: 400, data });
}
