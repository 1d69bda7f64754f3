import type { Cancel, Clock } from "../../ports/ports.ts";

/**
 * How long, and how often while attempts end, an organization that has much under way waits for room before
 * more of its deliveries are made; then they wait in line instead, which costs three times the writes.
 */
const PACE_MS = 50;
const PACES_MAX = 5;

/** Lets fan-out go on for an organization, or has it wait for a moment until attempts have ended. */
export class Pacing {
  /** Organizations that wait, and how many paces more. */
  readonly #waiting = new Map<string, number>();
  #timer: Cancel | null = null;
  /** True when an attempt has ended in this pace. */
  #hasEnded = false;

  constructor(
    private readonly clock: () => Clock,
    private readonly hasRoom: (org: string) => boolean,
    /** Has fan-out ask again. */
    private readonly wake: () => void,
  ) {}

  /** False while an organization has too much under way for the deliveries of one more commit. */
  mayFanOut(org: string): boolean {
    const left = this.#waiting.get(org) ?? PACES_MAX;
    if (left === 0 || this.hasRoom(org)) {
      this.#waiting.delete(org);
      return true;
    }
    this.#waiting.set(org, left);
    this.#timer ??= this.clock().after(PACE_MS, () => {
      this.#timer = null;
      for (const [org, left] of this.#waiting) {
        this.#waiting.set(org, this.#hasEnded ? left - 1 : 0);
      }
      this.#hasEnded = false;
      this.wake();
    });
    return false;
  }

  /** An attempt has ended: whoever waited for its place goes on. */
  attemptEnded(): void {
    this.#hasEnded = true;
    for (const org of this.#waiting.keys()) if (this.hasRoom(org)) return this.wake();
  }

  stop(): void {
    this.#timer?.();
  }
}
