import type { ErrorCode } from "./types.ts";

/** Codes of failures that no answer of the relay reports. */
export type ClientErrorCode =
  /** No complete answer arrived. */
  | "UNREACHED"
  /** The answer took longer than the deadline of the call. */
  | "TIMED_OUT"
  /** The answer is not the relay's, such as a page of a proxy, or it is too large. */
  | "UNREADABLE"
  /** The relay ended the stream, and the same request would end it again. */
  | "STREAM_ENDED"
  /** The webhook's signature or time is wrong. */
  | "INVALID_SIGNATURE";

/** What an error of the client holds. */
interface Failure {
  /** The HTTP status; 0 without an answer. */
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  /** Method and path of the request; empty when there was none. */
  readonly path: string;
  readonly details?: Readonly<Record<string, unknown>>;
  readonly requestId?: string | null;
  /** The wait that the relay asks for. */
  readonly retryAfterMs?: number | null;
  readonly cause?: unknown;
}

/** Every failure of the client. The message says what is wrong and what to do next. */
export class RelayError extends Error {
  override readonly name = "RelayError";
  readonly status: number;
  readonly code: ErrorCode | ClientErrorCode;
  readonly path: string;
  readonly details: Readonly<Record<string, unknown>>;
  readonly requestId: string | null;
  readonly retryAfterMs: number | null;

  constructor(message: string, failure: Failure) {
    super(message, { cause: failure.cause });
    this.status = failure.status;
    this.code = failure.code;
    this.path = failure.path;
    this.details = failure.details ?? {};
    this.requestId = failure.requestId ?? null;
    this.retryAfterMs = failure.retryAfterMs ?? null;
  }
}

/** The error that an answer with a status from 400 reports. */
export function refusalOf(response: Response, text: string, path: string): RelayError {
  const { status, headers } = response;
  const about = { status, path, requestId: headers.get("x-request-id") };
  const seconds = /^\d{1,6}$/.exec(headers.get("retry-after") ?? "")?.[0];
  const retryAfterMs = seconds === undefined ? null : Number(seconds) * 1000;
  const error = errorIn(text);
  if (error === null) {
    const message =
      `The answer has status ${status} and is not a relay's. Check the address, and ` +
      "proxies on the way.";
    return new RelayError(message, { ...about, code: "UNREADABLE", retryAfterMs });
  }
  const { code, message, details } = error;
  return new RelayError(message, { ...about, code, details, retryAfterMs });
}

interface ErrorBody {
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

function errorIn(text: string): ErrorBody | null {
  try {
    const { error } = JSON.parse(text);
    return typeof error.code === "string" && typeof error.message === "string" ? error : null;
  } catch {
    return null;
  }
}
