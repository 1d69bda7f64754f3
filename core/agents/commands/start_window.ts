import { isUnexpired } from "../../../kv/store/clock.ts";
import type { CommandRecord } from "../../../kv/records/command.ts";

/** How long after its approval a command may be sent. */
export const START_WITHIN_MS = 10 * 60 * 1000;

/** Whether a queued command may still be sent. The clocks of instances may differ. */
export const mayStart = ({ start_before_ms }: CommandRecord, nowMs: number): boolean =>
  isUnexpired(start_before_ms ?? 0, 2 * START_WITHIN_MS, nowMs);
