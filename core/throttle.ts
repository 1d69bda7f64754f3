import type { Clock } from "./ports.ts";

interface Tries {
  count: number;
  untilMs: number;
}

const KEYS_MAX = 50_000;

/** Counts tries that failed, and those still under way, so that guessing meets a wall. */
export class FailureThrottle {
  readonly #tries = new Map<string, Tries>();

  constructor(
    private readonly clock: Clock,
    private readonly options: { readonly tries: number; readonly windowMs: number },
  ) {}

  /** Begins a try; answers for how many ms none is allowed, or 0 when this one is. */
  begin(key: string): number {
    const now = this.clock.now();
    const known = this.#tries.get(key);
    const tries = known !== undefined && now < known.untilMs
      ? known
      : { count: 0, untilMs: now + this.options.windowMs };
    this.#tries.delete(key);
    this.#tries.set(key, tries);
    if (this.#tries.size > KEYS_MAX) this.#tries.delete(this.#tries.keys().next().value!);
    if (tries.count >= this.options.tries) return tries.untilMs - now;
    tries.count++;
    return 0;
  }

  /** The try was good, and only that is forgiven. */
  forgive(key: string): void {
    const tries = this.#tries.get(key);
    if (tries !== undefined) tries.count--;
  }

  /** The try was good: what failed before it is forgiven. */
  succeed(key: string): void {
    this.#tries.delete(key);
  }
}
