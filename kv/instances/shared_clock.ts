import type { Cancel, Clock } from "../store/clock.ts";

/** The largest difference from the store's time that renewals and their delays can cause. */
export const EXPLAINED_MS = 10_000;
/** The largest difference between the clocks of instances; with a larger one an instance refuses to start. */
export const APART_MS_MAX = 5 * 60 * 1000;
/** The most that one renewal moves the shared time towards the machines' clocks: 1 % of the time between renewals. */
const SLEW_MS = 50;

/** An instance's clock, as its presence row shows it. */
export interface ClockReading {
  /** The time of its machine. */
  readonly machine_ms: number;
  /** The shared time at the same instant. */
  readonly shared_ms: number;
}

/**
 * The time that all instances of a shared store agree on, so that a rate limit's window, a lease and an expiry mean
 * the same to each, although the clocks of their machines differ. It is this machine's time plus an offset, which is
 * learned from a row of the store. Each instance follows the one furthest ahead, and all move slowly towards the
 * median of their machines' clocks.
 */
export class SharedClock implements Clock {
  #offsetMs = 0;
  #shownMs = 0;

  constructor(private readonly machine: Clock) {}

  /** Does not go back when the clock takes a small step back. */
  now(): number {
    const nowMs = this.machine.now() + this.#offsetMs;
    if (nowMs > this.#shownMs || this.#shownMs - nowMs > EXPLAINED_MS) this.#shownMs = nowMs;
    return this.#shownMs;
  }

  monotonic(): number {
    return this.machine.monotonic();
  }

  after(ms: number, task: () => void): Cancel {
    return this.machine.after(ms, task);
  }

  sleep(ms: number): Promise<void> {
    return this.machine.sleep(ms);
  }

  /** Both times now. */
  reading(): ClockReading {
    const machine_ms = this.machine.now();
    return { machine_ms, shared_ms: machine_ms + this.#offsetMs };
  }

  /** Takes over the shared time of other instances. */
  follow(sharedMs: number): void {
    this.#offsetMs = sharedMs - this.machine.now();
  }

  /** The same for a time that is ahead, but no further than a starting instance may differ: else that one is wrong. */
  followForward(sharedMs: number): void {
    const byMs = sharedMs - this.now();
    if (byMs > 0 && byMs <= APART_MS_MAX) this.follow(sharedMs);
  }

  /** Moves towards this machine's time: no other instance lives. */
  lead(): void {
    this.#slew(-this.#offsetMs);
  }

  /**
   * Agrees with the store's time and the clocks of other instances. A clock more than EXPLAINED_MS ahead of the store's
   * time is wrong or has been set forward. It follows the store's time if that is known to be `fresh`.
   */
  agree(sharedMs: number, fresh: boolean, others: readonly ClockReading[]): void {
    this.followForward(sharedMs);
    if (fresh && this.now() - sharedMs > EXPLAINED_MS) this.follow(sharedMs);
    const byMs = medianOf([...others, this.reading()].map(lagOf));
    this.#slew(byMs);
  }

  #slew(byMs: number): void {
    this.#offsetMs += Math.max(-SLEW_MS, Math.min(SLEW_MS, byMs));
  }
}

/** How far the shared time is behind a machine's. */
const lagOf = ({ machine_ms, shared_ms }: ClockReading): number => machine_ms - shared_ms;

/** The lower median of some numbers. */
const medianOf = (numbers: readonly number[]): number =>
  numbers.toSorted((a, b) => a - b)[numbers.length - 1 >> 1]!;
