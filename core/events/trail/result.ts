import type { Sequenced } from "../../../kv/log/log.ts";
import { type EventRow, isOwnEvent, OWN_EVENTS } from "../emit.ts";
import type { Outcome, Result } from "../types/event.ts";

/** The outcome of what a row reports. */
export function resultOf({ event_type, details }: EventRow): Result {
  const outcome = outcomeOf(event_type);
  return typeof outcome === "function" ? outcome(details) : outcome;
}

/** False for rows with another result. It avoids parsing JSON, which most rows do not need. */
export function mayHaveResult({ type, json }: Sequenced, result: Result): boolean {
  if (type === "api_key_used") return result === "success" || /"status":[45]/.test(json);
  const outcome = outcomeOf(type);
  return typeof outcome === "function" || outcome === result;
}

const outcomeOf = (type: string): Outcome =>
  isOwnEvent(type) ? OWN_EVENTS[type]!.result ?? "success" : outcomeByName(type);

/** The outcome of an event that a caller recorded under a name of its own. */
function outcomeByName(type: string): Result {
  if (type.endsWith("_refused")) return "denied";
  return type.endsWith("_failed") ? "failure" : "success";
}
