const MINUTE_MS = 60_000;

/** Limits how often something happens a minute, by name. Each instance counts for itself. */
export class MinuteLimit {
  readonly #taken = new Map<string, number>();
  #sinceMs = 0;

  constructor(private readonly max: number, private readonly now: () => number) {}

  /** False beyond the limit. */
  take(name: string): boolean {
    const sinceMs = this.now() - this.#sinceMs;
    if (sinceMs < 0 || sinceMs >= MINUTE_MS) {
      this.#taken.clear();
      this.#sinceMs = this.now();
    }
    const taken = (this.#taken.get(name) ?? 0) + 1;
    this.#taken.set(name, taken);
    return taken <= this.max;
  }
}
