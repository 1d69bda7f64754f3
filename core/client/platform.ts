/** Time and randomness of the runtime. Tests pass their own. */
export interface Platform {
  /** Milliseconds since the Unix epoch. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal is aborted. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** A signal that is aborted after `ms`. */
  deadline(ms: number): AbortSignal;
  /** A number from 0 to below 1. */
  random(): number;
  uuid(): string;
}

/** What Deno, Node and browsers have in common. */
export const PLATFORM: Platform = {
  now: () => Date.now(),
  sleep: (ms, signal) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = () => {
        clearTimeout(timer);
        signal.removeEventListener("abort", end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      signal.addEventListener("abort", end);
    }),
  deadline: (ms) => AbortSignal.timeout(ms),
  random: () => Math.random(),
  uuid: () => crypto.randomUUID(),
};
