import { SERIES_DAYS } from "../../../kv/store/series.ts";
import { DAY_MS, HOUR_MS } from "../../../kv/store/durations.ts";
import { readPeriod } from "../../codec/codec.ts";

/** Longer periods are reported by days. */
const HOURLY_MS = 2 * DAY_MS;

/** The hours or UTC days of a period. */
export interface Steps {
  readonly steps: number;
  readonly stepMs: number;
  /** The start of the first step. */
  readonly fromMs: number;
  /** The end of the last step. */
  readonly toMs: number;
  /** False when the period begins before the oldest stored day: earlier steps are left out. */
  readonly complete: boolean;
}

/**
 * The whole hours, or beyond two days the UTC days, that a period touches, up to the current one. A period that
 * ends now covers exactly its length in steps, and the current step is the last.
 * @throws {Fault} VALIDATION_FAILED
 */
export function stepsOf(asked: string, nowMs: number): Steps {
  const { period: { from_ms, to_ms }, untilNow } = readPeriod(asked, nowMs, "query.period");
  const lengthMs = to_ms - from_ms;
  const stepMs = lengthMs <= HOURLY_MS ? HOUR_MS : DAY_MS;
  const startOf = (ms: number) => Math.floor(ms / stepMs) * stepMs;
  // A period does not touch the step that begins at its end.
  const lastMs = untilNow ? nowMs : Math.min(Math.max(from_ms, to_ms - 1), nowMs);
  const toMs = startOf(lastMs) + stepMs;
  const beginsMs = untilNow ? toMs - Math.ceil(lengthMs / stepMs) * stepMs : startOf(from_ms);
  const keptMs = (Math.floor(nowMs / DAY_MS) + 1 - SERIES_DAYS) * DAY_MS;
  const fromMs = Math.min(Math.max(beginsMs, keptMs), toMs);
  return { steps: (toMs - fromMs) / stepMs, stepMs, fromMs, toMs, complete: beginsMs >= keptMs };
}
