import { type FaultCode, FAULTS } from "../../core/fault/fault.ts";
import { POINTER } from "./schemas.ts";
import type { ApiResponse, Header, JsonSchema, Ref } from "./types.ts";
import type { Route } from "../call/route.ts";

const OF_BODIES = ["REQUEST_TIMEOUT", "PAYLOAD_TOO_LARGE", "UNSUPPORTED_MEDIA_TYPE"] as const;
const CODES = Object.keys(FAULTS) as FaultCode[];

/** The headers of every response. */
export const EVERY_RESPONSE: Readonly<Record<string, Ref>> = {
  "X-Request-Id": { $ref: "#/components/headers/RequestId" },
  "X-RateLimit-Limit": { $ref: "#/components/headers/RateLimitLimit" },
  "X-RateLimit-Remaining": { $ref: "#/components/headers/RateLimitRemaining" },
  "X-RateLimit-Reset": { $ref: "#/components/headers/RateLimitReset" },
};

/** The headers that several responses share. */
export const HEADERS: Readonly<Record<string, Header>> = {
  RequestId: {
    description: "The id of this request, as in errors, logs and audit rows.",
    schema: { type: "string", format: "uuid" },
  },
  RateLimitLimit: {
    description: "The limit with the least remaining; 2147483647 means no limit.",
    schema: { type: "integer", minimum: 0 },
  },
  RateLimitRemaining: {
    description: "At least this many requests are left under that limit.",
    schema: { type: "integer", minimum: 0 },
  },
  RateLimitReset: {
    description: "When that limit resets, in Unix seconds.",
    schema: { type: "integer", minimum: 0 },
  },
  RetryAfter: {
    description: "Seconds to wait before the next request.",
    schema: { type: "integer", minimum: 1 },
  },
  WwwAuthenticate: {
    description: "The accepted authentication scheme.",
    schema: { type: "string", pattern: '^Bearer realm="relay"' },
  },
  ETag: {
    description: "Identifies this exact response, for `If-None-Match`.",
    schema: { type: "string" },
  },
  NoStore: {
    description: "Caches must not store the response.",
    schema: { type: "string", const: "no-store" },
  },
};

/** The code and details of every refusal, in the interface's error object and in JSON-RPC's. */
const ERROR_CODE: JsonSchema = {
  type: "string",
  enum: CODES,
  description: "The error code, for programs.",
};
const ERROR_DETAILS: JsonSchema = {
  type: "object",
  properties: {
    request_id: { type: "string", description: "The id of the request, as in X-Request-Id." },
    trace_id: { type: "string", description: "The trace of the request, if it is traced." },
  },
  required: ["request_id"],
  additionalProperties: {},
};

const pointTo = (name: string): JsonSchema => ({ $ref: `${POINTER}${name}` });
/** Pointers to the schemas of a refusal's code and details. */
export const CODE = pointTo("ErrorCode");
export const DETAILS = pointTo("ErrorDetails");

/** The error object of the interface. */
const ERROR_SCHEMA: JsonSchema = {
  type: "object",
  properties: {
    error: {
      type: "object",
      properties: {
        code: CODE,
        message: { type: "string", description: "What is wrong and what to do next, for people." },
        details: DETAILS,
      },
      required: ["code", "message", "details"],
    },
  },
  required: ["error"],
};

/** A pointer to the error object, because generated clients make a type of every inline schema. */
export const ERROR = pointTo("ApiError");

/** The component schemas of refusals. */
export const ERROR_SCHEMAS = {
  ApiError: ERROR_SCHEMA,
  ErrorCode: ERROR_CODE,
  ErrorDetails: ERROR_DETAILS,
};

/** Every fault of a route: those that it declares and those that its declaration implies. */
export function faultsOf(route: Route): readonly FaultCode[] {
  const { access } = route;
  const named = !("public" in access);
  const identified = named || access.credential === "optional";
  const implied: readonly (FaultCode | false)[] = [
    "VALIDATION_FAILED",
    named && "MISSING_CREDENTIALS",
    ...(named ? ["INVALID_TOKEN", "INVALID_API_KEY"] as const : []),
    "scope" in route.access && "INSUFFICIENT_SCOPES",
    // A local server refuses pages of other sites and requests under other host names with it.
    "FORBIDDEN",
    ...(route.body ? OF_BODIES : []),
    (identified || !route.unlimited) && "RATE_LIMIT_EXCEEDED",
    "INTERNAL_ERROR",
    "UNAVAILABLE",
  ];
  return [...new Set([...implied.filter((code) => code !== false), ...route.faults])];
}

/**
 * The error responses of these faults, by status. Faults with one status share a response that lists them. It is
 * put into `components`, where routes share it.
 */
export function faultResponses(
  faults: readonly FaultCode[],
  components: Record<string, ApiResponse>,
  { prefix = "", schema = ERROR }: { prefix?: string; schema?: JsonSchema } = {},
): Record<string, Ref> {
  const unique = CODES.filter((code) => faults.includes(code));
  const statuses = [...new Set(unique.map((code) => FAULTS[code].status))];
  return Object.fromEntries(statuses.map((status) => {
    const codes = unique.filter((code) => FAULTS[code].status === status);
    const name = prefix + codes.map(pascal).join("Or");
    components[name] ??= responseOf(status, codes, schema);
    return [status, { $ref: `#/components/responses/${name}` }];
  }));
}

function responseOf(
  status: number,
  codes: readonly FaultCode[],
  schema: JsonSchema,
): ApiResponse {
  return {
    description: codes.map((code) => `\`${code}\`: ${FAULTS[code].title}`).join("\n\n"),
    headers: {
      ...EVERY_RESPONSE,
      ...((status === 429 || status === 503) &&
        { "Retry-After": { $ref: "#/components/headers/RetryAfter" } }),
      ...(status === 401 &&
        { "WWW-Authenticate": { $ref: "#/components/headers/WwwAuthenticate" } }),
    },
    content: {
      "application/json": {
        schema,
        examples: Object.fromEntries(codes.map((code) => [code, exampleOf(code)])),
      },
    },
  };
}

function exampleOf(code: FaultCode) {
  const { title } = FAULTS[code];
  const details = { request_id: "0198c0de-5e1f-4a6b-9d3c-2f7a41b8e605" };
  return { summary: title, value: { error: { code, message: title, details } } };
}

const pascal = (code: string) =>
  code.split("_").map((word) => word[0] + word.slice(1).toLowerCase()).join("");
