/** Stops a timer that has not fired yet; calling it later or twice does nothing. */
export type Cancel = () => void;

/** Time, as the store and every rule see it. */
export interface Clock {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Milliseconds since some instant, on a clock that is never set. */
  monotonic(): number;
  /** Runs `task` once, `ms` from now, unless cancelled. */
  after(ms: number, task: () => void): Cancel;
  /** Resolves `ms` from now. */
  sleep(ms: number): Promise<void>;
}

/**
 * True while `nowMs` counts in the window that begins at `startMs`. After a clock steps back by up to one window,
 * the window that it had reached stays current. After a larger step the window of the new time begins; otherwise
 * counts would belong to the future.
 */
export const isInWindow = (startMs: number, lengthMs: number, nowMs: number): boolean =>
  nowMs < startMs + lengthMs && nowMs >= startMs - lengthMs;

// A stored instant that lies further ahead than possible was written before the clock was set back. Nothing waits
// for such an instant, and a period that began at one is over.

/** True while a period of `lengthMs` that began at `sinceMs` lasts. */
export const isWithin = (sinceMs: number, lengthMs: number, nowMs: number): boolean =>
  Math.abs(nowMs - sinceMs) < lengthMs;

/** True for an instant that lies further ahead than `longestMs`, the longest that anything waits for it. */
export const isImplausible = (atMs: number, longestMs: number, nowMs: number): boolean =>
  atMs > nowMs + longestMs;

/** A stored due time; an implausible one is due now. */
export const dueAt = (dueMs: number, longestMs: number, nowMs: number): number =>
  isImplausible(dueMs, longestMs, nowMs) ? nowMs : dueMs;

/** True until a stored end; an implausible one has passed. */
export const isUnexpired = (endMs: number, longestMs: number, nowMs: number): boolean =>
  nowMs < dueAt(endMs, longestMs, nowMs);
