const MINUTE_MS = 60_000;

/** So many a minute, and no more. */
export class Allowance {
  #taken = 0;
  #sinceMs = 0;

  constructor(private readonly perMinute: number) {}

  /** Takes one; false when none is left in this minute. */
  take(nowMs: number): boolean {
    if (nowMs - this.#sinceMs >= MINUTE_MS) {
      this.#sinceMs = nowMs;
      this.#taken = 0;
    }
    return ++this.#taken <= this.perMinute;
  }
}
