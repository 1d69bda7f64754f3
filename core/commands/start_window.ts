import type { CommandRecord } from "../../kv/records/command.ts";

/** How long after its approval a command may be sent. */
export const START_WITHIN_MS = 10 * 60 * 1000;

/** Whether a queued command may still be sent. Much more time left than that means that the clock jumped back. */
export function mayStart({ start_before_ms }: CommandRecord, nowMs: number): boolean {
  const leftMs = (start_before_ms ?? 0) - nowMs;
  return leftMs > 0 && leftMs <= 2 * START_WITHIN_MS;
}
