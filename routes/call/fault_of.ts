import { Fault } from "../../core/fault/fault.ts";
import { ContentionError, DuplicateError, StoreUnavailableError } from "../../kv/engine/errors.ts";

/** How soon a caller may try again, in seconds: an outage of the store that has ended is over at once. */
const RETRY_SECONDS = 1;

/** The fault that a caller may see for an error; null for a bug, which only the log shows. */
export function faultOf(error: unknown): Fault | null {
  if (error instanceof Fault) return error;
  if (error instanceof DuplicateError) {
    return new Fault("CONFLICT", "Another resource already has this name or key. Choose another.");
  }
  if (error instanceof ContentionError || error instanceof StoreUnavailableError) {
    return new Fault("UNAVAILABLE", undefined, { retry_after: RETRY_SECONDS }, { cause: error });
  }
  return null;
}
