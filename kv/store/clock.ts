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
