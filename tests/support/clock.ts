import { setImmediate } from "node:timers/promises";
import type { Cancel, Clock } from "../../kv/store/clock.ts";

interface Timer {
  readonly dueMs: number;
  readonly task: () => void;
}

/** Where every hand-moved clock starts. */
const START_MS = Date.UTC(2030, 0, 1);

/** A clock that stands still until `advance` moves it. */
export class ManualClock implements Clock {
  /** Setting it makes the clock jump, also backwards, and fires nothing. */
  nowMs: number;
  #passedMs = 0;
  readonly #timers = new Set<Timer>();

  constructor(startMs = START_MS) {
    this.nowMs = startMs;
  }

  now(): number {
    return this.nowMs;
  }

  monotonic(): number {
    return this.#passedMs;
  }

  after(ms: number, task: () => void): Cancel {
    const timer = { dueMs: this.nowMs + ms, task };
    this.#timers.add(timer);
    return () => void this.#timers.delete(timer);
  }

  sleep(ms: number): Promise<void> {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Moves time on and fires, in order and each at its own instant, what falls due on the way. */
  advance(ms: number): void {
    const endMs = this.nowMs + ms;
    for (let timer = this.#next(endMs); timer !== null; timer = this.#next(endMs)) {
      this.#timers.delete(timer);
      this.#passTo(timer.dueMs);
      timer.task();
    }
    this.#passTo(endMs);
  }

  /** Moves time on and fires nothing, as for a process that is frozen and has just woken up. */
  freeze(ms: number): void {
    this.#passTo(this.nowMs + ms);
  }

  #passTo(ms: number): void {
    this.#passedMs += Math.max(0, ms - this.nowMs);
    this.nowMs = Math.max(this.nowMs, ms);
  }

  /** How many timers are still to fire. */
  get pending(): number {
    return this.#timers.size;
  }

  /** The instant of the next timer, or null when none is set. */
  get nextDueMs(): number | null {
    return this.#next(Infinity)?.dueMs ?? null;
  }

  #next(endMs: number): Timer | null {
    let first: Timer | null = null;
    for (const timer of this.#timers) {
      if (timer.dueMs <= endMs && (first === null || timer.dueMs < first.dueMs)) first = timer;
    }
    return first;
  }
}

/** How long a pause may be that passes without the test, and how many turns of the event loop it takes. */
const PAUSE_MS = 20, PAUSE_TURNS = 10;

/** A hand-moved clock on which short pauses pass by themselves: in them an instance waits for another one. */
export class PausingClock extends ManualClock {
  override async sleep(ms: number): Promise<void> {
    if (ms > PAUSE_MS) return await super.sleep(ms);
    const endMs = this.nowMs + ms;
    for (let turn = 0; turn < PAUSE_TURNS; turn++) await setImmediate();
    this.advance(endMs - this.nowMs);
  }
}
