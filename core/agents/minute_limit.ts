import { isWithin } from "../../kv/store/clock.ts";
import { MINUTE_MS } from "../../kv/store/durations.ts";

/** Limits how often something happens a minute, by name. Each instance counts for itself. */
export class MinuteLimit {
  readonly #taken = new Map<string, number>();
  #sinceMs = 0;

  constructor(private readonly max: number, private readonly now: () => number) {}

  /** False beyond the limit. */
  take(name: string): boolean {
    const now = this.now();
    if (!isWithin(this.#sinceMs, MINUTE_MS, now)) {
      this.#taken.clear();
      this.#sinceMs = now;
    }
    const taken = (this.#taken.get(name) ?? 0) + 1;
    this.#taken.set(name, taken);
    return taken <= this.max;
  }
}
