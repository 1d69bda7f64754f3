import {
  attemptId,
  type AttemptRecord,
  type DeliveryRecord,
  DISCARDED,
} from "../../../kv/records/webhook.ts";

/** The error of a delivery that its webhook may not receive any more. */
export const NOT_ALLOWED = "not_allowed";
/** Errors that end a delivery between attempts; they are not the outcome of its latest attempt. */
const BETWEEN: readonly (string | null)[] = [NOT_ALLOWED, DISCARDED];
/** The outcome of an attempt whose process died: the receiver may or may not have got it. */
export const LOST = {
  http_status: null,
  response_time_ms: null,
  timing_ms: null,
  response_body: "",
  response_truncated: false,
  error: "lost",
} as const;

/** The latest attempt of a delivery as a row of its own; null when it had none, or when the row exists. */
export function attemptOf(delivery: DeliveryRecord): AttemptRecord | null {
  const { id, attempt, error, expires_at_ms } = delivery;
  if (attempt === 0 || BETWEEN.includes(error)) return null;
  const common = { id: attemptId(id, attempt), started_at_ms: delivery.sent_at_ms, expires_at_ms };
  if (delivery.status === "sending") return { ...common, status: "failed", ...LOST };
  return {
    ...common,
    status: error === null ? "succeeded" : error === "timeout" ? "timed_out" : "failed",
    http_status: delivery.http_status,
    response_time_ms: delivery.response_time_ms,
    timing_ms: delivery.timing_ms,
    response_body: delivery.response_body,
    response_truncated: delivery.response_truncated,
    error,
  };
}
