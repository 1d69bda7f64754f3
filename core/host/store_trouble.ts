import { AWAY, isUnavailability } from "../../kv/engine/errors.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Log, Ports } from "../ports/ports.ts";

/** A log without the lines that only repeat what `logTrouble` says once. */
export function withoutRepeats(log: Log, { health }: Store): Log {
  const unless = (write: Log["error"]): Log["error"] => (message, fields) => {
    const error = fields?.error;
    // What failed while the server was away may say so a moment after its return.
    const isRepeat = isUnavailability(error) &&
      (health.failure !== null || error.includes(`: ${AWAY}`));
    if (!isRepeat) write(message, fields);
  };
  return { ...log, error: unless(log.error), warn: unless(log.warn) };
}

/** Logs that commits began to fail, during which requests get 503, or that they succeed again. */
export function logTrouble({ log }: Ports, why: Error | null): void {
  if (why === null) return log.info("the store takes changes again");
  const error = `${why.message}: check the store's disk or server, and run \`relay doctor\``;
  log.error("the store takes no changes", { error });
}
