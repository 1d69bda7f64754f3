const MINUTE_MS = 60_000;

/** Counts in memory what may happen so many times a minute, by name. */
export class Pace {
  readonly #taken = new Map<string, number>();
  #sinceMs = 0;

  constructor(private readonly most: number, private readonly now: () => number) {}

  /** False for one too many. */
  take(name: string): boolean {
    const sinceMs = this.now() - this.#sinceMs;
    if (sinceMs < 0 || sinceMs >= MINUTE_MS) {
      this.#taken.clear();
      this.#sinceMs = this.now();
    }
    const taken = (this.#taken.get(name) ?? 0) + 1;
    this.#taken.set(name, taken);
    return taken <= this.most;
  }
}
