import type { Sequenced } from "../../../kv/log/log.ts";
import type { EventRow } from "../emit.ts";

/** The outcomes that a filter may ask for. */
export const RESULTS = ["success", "failure", "denied"] as const;
export type Result = (typeof RESULTS)[number];

const DENIED = /^(access_denied|command_denied|.*_refused|approval_mismatch)$/;
const FAILED = /_failed$|^command_timeout$/;

/** The outcome of what a row reports. */
export function resultOf({ event_type, details }: EventRow): Result {
  if (DENIED.test(event_type)) return "denied";
  if (FAILED.test(event_type)) return "failure";
  const { status, decision } = details;
  switch (event_type) {
    case "api_key_used":
      if (typeof status !== "number" || status < 400) return "success";
      return status === 403 ? "denied" : "failure";
    case "command_executed":
      return status === "failed" ? "failure" : "success";
    case "approval_resolved":
      return decision === "rejected" ? "denied" : decision === "expired" ? "failure" : "success";
    default:
      return "success";
  }
}

/** False for rows with another result. It avoids parsing JSON, which most rows do not need. */
export function mayHaveResult({ type, json }: Sequenced, result: Result): boolean {
  switch (type) {
    case "api_key_used":
      return result === "success" || /"status":[45]/.test(json);
    case "command_executed":
    case "approval_resolved":
      return true;
    default:
      if (DENIED.test(type)) return result === "denied";
      return FAILED.test(type) ? result === "failure" : result === "success";
  }
}
