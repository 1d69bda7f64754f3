/** Stops a timer that has not fired yet; calling it later or twice does nothing. */
export type Cancel = () => void;

/** Time, as the store and every rule see it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Runs `task` once, `ms` from now, unless cancelled. */
  after(ms: number, task: () => void): Cancel;
  /** Resolves `ms` from now. */
  sleep(ms: number): Promise<void>;
}

/**
 * True while `now` counts in the window that begins at `startMs`. A clock that steps back by up to one window
 * stays in the window that it had reached, whose counts are in hand. One that steps back further is followed,
 * or it would count in the future.
 */
export const isInWindow = (startMs: number, lengthMs: number, nowMs: number): boolean =>
  nowMs < startMs + lengthMs && nowMs >= startMs - lengthMs;

/**
 * True while a period of `lengthMs` that began at `sinceMs` lasts. A beginning more than `lengthMs` in the
 * future was recorded by a clock that has been set back since, so the period counts as over.
 */
export const isWithin = (sinceMs: number, lengthMs: number, nowMs: number): boolean =>
  Math.abs(nowMs - sinceMs) < lengthMs;
