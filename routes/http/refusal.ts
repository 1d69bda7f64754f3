import { type LimitState, retryAfterOf, tooMany, unlimitedAt } from "../../core/access/access.ts";
import { Fault } from "../../core/fault/fault.ts";
import { idsOf } from "../../core/identity/identity.ts";
import type { Log, Ports } from "../../core/ports/ports.ts";
import { faultOf } from "../call/fault_of.ts";
import { type Envelope, headersOf } from "./answer.ts";

/** The fault of a method that a path does not take. */
export const notAllowed = (allow: readonly string[]): Fault =>
  new Fault("METHOD_NOT_ALLOWED", `This path accepts ${allow.join(", ")}.`, { allow });

/** The headers of every refusal with a JSON body, in whatever protocol. */
export function refusalHeaders(envelope: Envelope, fault: Fault | null): Record<string, string> {
  const headers = headersOf(envelope);
  headers["content-type"] = "application/json";
  const after = fault?.details.retry_after;
  if (typeof after === "number") headers["retry-after"] = `${after}`;
  return headers;
}

/** A response with the interface's error object. */
export function failure(envelope: Envelope, fault: Fault): Response {
  const headers = refusalHeaders(envelope, fault);
  if (fault.status === 401) headers["www-authenticate"] = 'Bearer realm="relay"';
  if (fault.status === 426) headers["upgrade"] = "websocket";
  if (Array.isArray(fault.details.allow)) headers["allow"] = fault.details.allow.join(", ");
  const details = { ...fault.details, ...idsOfEnvelope(envelope) };
  const error = { code: fault.code, message: fault.message, details };
  return new Response(JSON.stringify({ error }), { status: fault.status, headers });
}

const idsOfEnvelope = ({ requestId: id, trace = null }: Envelope) => idsOf({ id, trace });

/** The response to an error. Errors that are not faults are logged. `place` is a route's id or a path. */
export function failed(log: Log, error: unknown, envelope: Envelope, place: string): Response {
  const fault = faultOf(error);
  if (fault === null) {
    log.error("unhandled error", {
      ...idsOfEnvelope(envelope),
      route: place,
      error: error instanceof Error ? error.stack : String(error),
    });
  }
  return failure(envelope, fault ?? new Fault("INTERNAL_ERROR"));
}

/** The same for a request that no route has taken, because the server failed or there is no relay yet. */
export function failedBare(
  { clock, entropy, log }: Pick<Ports, "clock" | "entropy" | "log">,
  error: unknown,
): Response {
  const envelope = { requestId: entropy.uuid(), limit: unlimitedAt(clock.now()) };
  return failed(log, error, envelope, "server");
}

/**
 * The response of `failure` to a request over its limit, made without throwing, and serialized once a second, so
 * that a flood of such requests costs little.
 */
export function overLimit(envelope: Envelope, nowMs: number): Response {
  const { claim, resetMs } = envelope.limit;
  const retryAfter = retryAfterOf(envelope.limit, nowMs);
  const same = last.claim === claim && last.resetMs === resetMs && last.retryAfter === retryAfter;
  if (!same) last = { claim, resetMs, retryAfter, text: beginningOf(envelope.limit, nowMs) };
  const headers = headersOf(envelope);
  headers["content-type"] = "application/json";
  headers["retry-after"] = `${retryAfter}`;
  const { requestId, trace } = envelope;
  const traced = trace ? `,"trace_id":"${trace.traceId}"` : "";
  return new Response(`${last.text}"${requestId}"${traced}}}}`, { status: 429, headers });
}

/** The text before the request's id, which stays the same for a second while one caller floods. */
let last: {
  readonly claim: LimitState["claim"] | null;
  readonly resetMs: number;
  readonly retryAfter: number;
  readonly text: string;
} = { claim: null, resetMs: 0, retryAfter: 0, text: "" };

function beginningOf(state: LimitState, nowMs: number): string {
  const { code, message, details } = tooMany(state, nowMs);
  const whole = JSON.stringify({ error: { code, message, details } });
  return `${whole.slice(0, -"}}}".length)},"request_id":`;
}
