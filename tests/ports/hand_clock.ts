import type { Clock } from "../../core/ports/ports.ts";

/** A clock that stands still until `advance` moves it and runs what has become due. */
export interface HandClock extends Clock {
  advance(ms: number): void;
  /** Timers that are still to fire. */
  pending(): number;
}

/** Starts at zero. */
export function handClock(): HandClock {
  let now = 0;
  const timers = new Set<{ at: number; task: () => void }>();
  const after = (ms: number, task: () => void) => {
    const timer = { at: now + ms, task };
    timers.add(timer);
    return () => void timers.delete(timer);
  };
  return {
    now: () => now,
    monotonic: () => now,
    after,
    sleep: (ms) => new Promise((resolve) => after(ms, resolve)),
    advance(ms) {
      now += ms;
      for (const timer of [...timers].filter(({ at }) => at <= now)) {
        timers.delete(timer);
        timer.task();
      }
    },
    pending: () => timers.size,
  };
}

/** The system's clock, for the few guarantees that hold only while real time passes. */
export const realClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, task) {
    const id = setTimeout(task, ms);
    return () => clearTimeout(id);
  },
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
};
