import { isObject } from "../core/codec/codec.ts";
import { Fault, type FaultCode } from "../core/fault/fault.ts";
import type { idsOf } from "../core/identity/identity.ts";
import { parseJson, TooManyParts } from "../routes/call/parse_json.ts";

/** The current revision of the protocol. */
export const CURRENT = "2026-07-28";
/** The older revisions that are served too, newest first. */
export const OLDER = ["2025-11-25", "2025-06-18"] as const;

/** Error codes of JSON-RPC 2.0 and of the protocol. Faults use their HTTP status, which is not a reserved code. */
export const CODES = {
  parseError: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internalError: -32603,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
  /** Up to 2025-11-25. */
  resourceNotFound: -32002,
} as const;

/** The interface's code for each, in `error.data.code`. */
const FAULT_CODES: Readonly<Record<number, FaultCode>> = {
  [CODES.parseError]: "VALIDATION_FAILED",
  [CODES.invalidRequest]: "VALIDATION_FAILED",
  [CODES.methodNotFound]: "NOT_FOUND",
  [CODES.invalidParams]: "VALIDATION_FAILED",
  [CODES.internalError]: "INTERNAL_ERROR",
  [CODES.headerMismatch]: "VALIDATION_FAILED",
  [CODES.missingCapability]: "VALIDATION_FAILED",
  [CODES.unsupportedVersion]: "VALIDATION_FAILED",
  [CODES.resourceNotFound]: "NOT_FOUND",
};

export type Id = string | number;
export type Params = Readonly<Record<string, unknown>>;

/** A request, or a notification when it has no id. */
export interface Message {
  readonly id: Id | null;
  readonly method: string;
  readonly params: Params;
}

/** A reply to a request of the server's. */
export interface Reply {
  readonly id: Id;
}

/** An error of the protocol. */
export class RpcError extends Error {
  override readonly name = "RpcError";
  constructor(
    readonly code: number,
    message: string,
    readonly options: {
      /** The members that the protocol wants beside the interface's code and details. */
      readonly data?: Readonly<Record<string, unknown>>;
      /** The interface's code, where it differs from the table's. */
      readonly fault?: FaultCode;
      /** The HTTP status of an answer that is not a stream. */
      readonly status?: number;
      /** The request's id, if it was read before the refusal. */
      readonly id?: Id | null;
    } = {},
  ) {
    super(message);
  }
}

const ID_CHARS_MAX = 256;

/**
 * Reads the body of a POST.
 * @throws {RpcError} parseError, invalidRequest, invalidParams
 */
export async function parseMessage(text: string): Promise<Message | Reply> {
  let value: unknown;
  try {
    value = await parseJson(text);
  } catch (error) {
    if (error instanceof TooManyParts) {
      const why = `The body has too many parts: ${error.message}.`;
      throw new RpcError(CODES.invalidRequest, why, { status: 400 });
    }
    throw new RpcError(CODES.parseError, "The body is not JSON.", { status: 400 });
  }
  const invalid = (why: string, id: Id | null = null) =>
    new RpcError(CODES.invalidRequest, why, { status: 400, id });
  if (Array.isArray(value)) {
    throw invalid("Batches are not supported. Send one message in each request.");
  }
  if (!isObject(value)) throw invalid("The message must be a JSON object.");
  const { jsonrpc, method, params = {} } = value;
  const id = value.id ?? null;
  if (jsonrpc !== "2.0") throw invalid('`jsonrpc` must be "2.0".', isId(id) ? id : null);
  if (!isId(id) && !(id === null && !("id" in value))) {
    throw invalid(`\`id\` must be a string of at most ${ID_CHARS_MAX} characters or an integer.`);
  }
  if (method === undefined && id !== null && ("result" in value || "error" in value)) {
    return value as unknown as Reply;
  }
  if (typeof method !== "string" || method.length > ID_CHARS_MAX) {
    throw invalid("`method` must be a string.", id);
  }
  if (!isObject(params)) {
    throw new RpcError(CODES.invalidParams, "`params` must be an object.", { status: 400, id });
  }
  return { id, method, params };
}

export const isId = (id: unknown): id is Id =>
  typeof id === "string" ? id.length <= ID_CHARS_MAX : Number.isSafeInteger(id);

export { isObject };

/** The JSON of a notification. */
export const notification = (method: string, params: Params): string =>
  JSON.stringify({ jsonrpc: "2.0", method, params });

/** The JSON of a response, around the JSON of its result. */
export const response = (id: Id, result: string): string =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`;

/** The ids of the request, for the details of an error. */
export type RequestIds = ReturnType<typeof idsOf>;

/** The JSON of an error, with its HTTP status; null for a bug. */
export function refusalOf(
  error: unknown,
  id: Id | null,
  ids: RequestIds,
): { text: string; status: number } | null {
  if (error instanceof RpcError) {
    const { status = 200, fault = FAULT_CODES[error.code] } = error.options;
    const data = { code: fault, details: ids, ...error.options.data };
    const body = { code: error.code, message: error.message, data };
    return { text: errorText(id ?? error.options.id ?? null, body), status };
  }
  if (error instanceof Fault) {
    const details = { ...error.details, ...ids };
    const data = { code: error.code, details };
    const body = { code: error.status, message: error.message, data };
    return { text: errorText(id, body), status: error.status };
  }
  return null;
}

/** The JSON of the error that a caller gets for a bug. */
export const bugText = (id: Id | null, ids: RequestIds): string =>
  errorText(id, {
    code: CODES.internalError,
    message: "Internal error; it has been logged.",
    data: { code: "INTERNAL_ERROR", details: ids },
  });

const errorText = (id: Id | null, error: unknown) => JSON.stringify({ jsonrpc: "2.0", id, error });

/** The key of a request in a session; 1 and "1" are two ids. */
export const inSession = (session: string, id: Id): string => `${session} ${JSON.stringify(id)}`;
