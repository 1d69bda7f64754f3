/**
 * Expected failures: the one table of codes, statuses and public sentences, from which answers and the OpenAPI
 * document are made.
 */
export const FAULTS = {
  VALIDATION_FAILED: { status: 400, title: "The request does not match the schema." },
  MISSING_CREDENTIALS: { status: 401, title: "Credentials are missing. Send a JWT or an API key." },
  INVALID_TOKEN: { status: 401, title: "The JWT is invalid or expired. Sign in again." },
  INVALID_API_KEY: { status: 401, title: "The API key is not accepted." },
  INVALID_LOGIN: { status: 401, title: "The email or the password is wrong." },
  INSUFFICIENT_SCOPES: { status: 403, title: "The credential lacks a required right." },
  FORBIDDEN: { status: 403, title: "This is not allowed." },
  COMMAND_BLOCKED: { status: 403, title: "The shield blocked the command." },
  NOT_FOUND: { status: 404, title: "There is no such resource, or you may not see it." },
  AGENT_NOT_FOUND: { status: 404, title: "There is no such agent." },
  POLICY_NOT_FOUND: { status: 404, title: "There is no such policy." },
  METHOD_NOT_ALLOWED: { status: 405, title: "This path does not support the method." },
  NOT_ACCEPTABLE: { status: 406, title: "None of the accepted media types is available." },
  REQUEST_TIMEOUT: { status: 408, title: "The body stopped arriving. Send the request again." },
  CONFLICT: {
    status: 409,
    title: "The resource already exists, or its state does not allow this.",
  },
  AGENT_OFFLINE: { status: 409, title: "The agent is not connected." },
  GONE: { status: 410, title: "The resource no longer exists." },
  PAYLOAD_TOO_LARGE: { status: 413, title: "The body is too large for this endpoint." },
  UNSUPPORTED_MEDIA_TYPE: { status: 415, title: "Send the body as application/json." },
  UPGRADE_REQUIRED: { status: 426, title: "Connect to this path with WebSocket." },
  RATE_LIMIT_EXCEEDED: {
    status: 429,
    title: "Too many requests. Wait for the time in Retry-After.",
  },
  INTERNAL_ERROR: { status: 500, title: "Internal error; it has been logged." },
  COMMAND_LOST: { status: 502, title: "The link to the agent broke. The command may have run." },
  UNAVAILABLE: { status: 503, title: "Relay cannot do this now. Try again later." },
  CANARY_FAILED: { status: 503, title: "A layer of the shield failed its test." },
  COMMAND_TIMEOUT: { status: 504, title: "The command did not finish in time." },
} as const satisfies Record<string, { status: number; title: string }>;

export type FaultCode = keyof typeof FAULTS;

/** An expected failure. Any other error is a bug and is answered as INTERNAL_ERROR. */
export class Fault extends Error {
  override readonly name = "Fault";
  constructor(
    readonly code: FaultCode,
    /** Shown to the caller: the problem, and what to do next. */
    message: string = FAULTS[code].title,
    /** Shown to the caller as `error.details`. */
    readonly details: Readonly<Record<string, unknown>> = {},
    options?: ErrorOptions,
  ) {
    super(message, options);
  }

  get status(): number {
    return FAULTS[this.code].status;
  }
}

/** Whose limit it is; `id` is null for an instance of Relay. */
export interface LimitHolder {
  readonly type: "address" | "agent" | "api_key" | "instance" | "organization" | "user";
  readonly id: string | null;
}

/** Who may raise a limit, and with what. */
export interface LimitRaise {
  readonly who: "host_owner" | "operator";
  readonly how: string;
}

/** A limit that a caller has reached. */
export interface ReachedLimit {
  /** The name of the limit. */
  readonly scope: string;
  readonly limit: number;
  readonly of: LimitHolder;
  /** Null for a fixed limit. */
  readonly raise: LimitRaise | null;
  /** The end of its window in Unix seconds, if it has one. */
  readonly reset?: number;
  /** Seconds until the caller may try again. */
  readonly retry_after: number;
}

const WHO = {
  host_owner: "An owner of the host organization",
  operator: "The operator of the server",
} as const;

/** The refusal of a request over a limit. `what` says which limit was reached and what to do. */
export const limitReached = (what: string, reached: ReachedLimit): Fault =>
  new Fault("RATE_LIMIT_EXCEEDED", `${what} ${raising(reached.raise)}`, { ...reached });

const raising = (raise: LimitRaise | null): string =>
  raise === null ? "This limit is fixed." : `${WHO[raise.who]} can raise it with ${raise.how}.`;
