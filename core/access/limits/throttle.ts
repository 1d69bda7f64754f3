import { Fault } from "../../fault/fault.ts";
import type { Clock } from "../../ports/ports.ts";

interface Attempts {
  failed: number;
  /** When the failures expire, counted from the first. */
  untilMs: number;
  /** Unfinished attempts, each of which may still fail. */
  underWay: number;
}

/** Failed attempts of one key within one window. */
const ATTEMPTS_MAX = 10;
const WINDOW_MS = 15 * 60 * 1000;
/** Retry soon: an unfinished attempt may end at any moment. */
const UNDER_WAY_RETRY_MS = 1_000;
const KEYS_MAX = 50_000;

/**
 * Limits failed attempts to give a secret; unfinished attempts count too. The counts are in memory: with several
 * instances each one allows the maximum.
 */
export class FailureThrottle {
  readonly #attempts = new Map<string, Attempts>();

  constructor(
    private readonly clock: Clock,
    private readonly options: {
      /** The name of the limit in a refusal. */
      readonly scope: string;
      /** Whether a success clears the failures before it. */
      readonly forgiving: boolean;
    },
  ) {}

  /**
   * Runs one attempt, unless the maximum has failed or may still fail. Any error is a failure except
   * UNAVAILABLE, after which the secret was not checked.
   * @throws {Fault} RATE_LIMIT_EXCEEDED, and what `check` throws
   */
  async attempt<R>(key: string, check: () => Promise<R>): Promise<R> {
    const attempts = this.#admit(key);
    attempts.underWay++;
    try {
      const result = await check();
      if (this.options.forgiving) attempts.failed = 0;
      return result;
    } catch (error) {
      if (!(error instanceof Fault && error.code === "UNAVAILABLE")) this.#fail(attempts);
      throw error;
    } finally {
      attempts.underWay--;
      if (attempts.failed + attempts.underWay === 0) this.#attempts.delete(key);
    }
  }

  #admit(key: string): Attempts {
    const attempts = this.#attempts.get(key) ?? { failed: 0, untilMs: 0, underWay: 0 };
    this.#attempts.delete(key);
    this.#attempts.set(key, attempts);
    if (this.#attempts.size > KEYS_MAX) this.#attempts.delete(this.#attempts.keys().next().value!);
    const failed = this.#failed(attempts);
    if (failed >= ATTEMPTS_MAX) throw this.#refusal("failed", attempts.untilMs - this.clock.now());
    if (failed + attempts.underWay < ATTEMPTS_MAX) return attempts;
    throw this.#refusal("are in progress", UNDER_WAY_RETRY_MS);
  }

  #failed(attempts: Attempts): number {
    const now = this.clock.now();
    // After the clock was set back, the failures still expire within one window.
    attempts.untilMs = Math.min(attempts.untilMs, now + WINDOW_MS);
    return now < attempts.untilMs ? attempts.failed : 0;
  }

  #fail(attempts: Attempts): void {
    attempts.failed = this.#failed(attempts) + 1;
    if (attempts.failed === 1) attempts.untilMs = this.clock.now() + WINDOW_MS;
  }

  #refusal(what: string, waitMs: number): Fault {
    const retry_after = Math.ceil(waitMs / 1000);
    return new Fault(
      "RATE_LIMIT_EXCEEDED",
      `Too many attempts ${what}. Try again in ${retry_after} s.`,
      {
        limit: ATTEMPTS_MAX,
        scope: this.options.scope,
        reset: Math.ceil((this.clock.now() + waitMs) / 1000),
        retry_after,
      },
    );
  }
}
