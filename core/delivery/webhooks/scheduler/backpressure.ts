import type { Cancel, Clock } from "../../../ports/ports.ts";

/**
 * How long fan-out waits for free slots of an organization, and how many such waits in a row it makes while attempts
 * end. After that it creates the deliveries without slots, which costs three times the writes.
 */
const WAIT_MS = 50;
const WAITS_MAX = 5;

/** Delays fan-out for an organization that has too many attempts under way, until some of them have ended. */
export class Backpressure {
  /** Organizations that wait, with the number of waits that they have left. */
  readonly #waiting = new Map<string, number>();
  #timer: Cancel | null = null;
  /** True when an attempt has ended during this wait. */
  #hasEnded = false;

  constructor(
    private readonly clock: Clock,
    private readonly hasSlots: (org: string) => boolean,
    /** Makes fan-out ask again. */
    private readonly wake: () => void,
  ) {}

  /** False while an organization has too few free slots for the deliveries of one more commit. */
  mayFanOut(org: string): boolean {
    const left = this.#waiting.get(org) ?? WAITS_MAX;
    if (left === 0 || this.hasSlots(org)) {
      this.#waiting.delete(org);
      return true;
    }
    this.#waiting.set(org, left);
    this.#timer ??= this.clock.after(WAIT_MS, () => {
      this.#timer = null;
      for (const [org, left] of this.#waiting) {
        this.#waiting.set(org, this.#hasEnded ? left - 1 : 0);
      }
      this.#hasEnded = false;
      this.wake();
    });
    return false;
  }

  /** Resumes fan-out if the end of an attempt gave a waiting organization enough free slots. */
  attemptEnded(): void {
    this.#hasEnded = true;
    for (const org of this.#waiting.keys()) if (this.hasSlots(org)) return this.wake();
  }

  stop(): void {
    this.#timer?.();
  }
}
