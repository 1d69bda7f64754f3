import { Fault } from "../../fault/fault.ts";
import type { Clock } from "../../ports/ports.ts";

interface Tries {
  failed: number;
  /** Until when the failures count, from the first of them. */
  untilMs: number;
  /** Each of these may still fail. */
  underWay: number;
}

/** What may fail for one key, and for how long it counts. */
const TRIES_MAX = 10;
const WINDOW_MS = 15 * 60 * 1000;
/** A try that is under way may end at any moment. */
const UNDER_WAY_RETRY_MS = 1_000;
const KEYS_MAX = 50_000;

/** Counts tries that failed, and apart from them those still under way, so that guessing meets a wall. */
export class FailureThrottle {
  readonly #tries = new Map<string, Tries>();

  constructor(
    private readonly clock: Clock,
    private readonly options: {
      /** What a refusal calls this limit. */
      readonly scope: string;
      /** Whether a try that was good forgives what failed before it. */
      readonly forgiving: boolean;
    },
  ) {}

  /**
   * Makes one try to give a secret, unless as many have failed or may still fail as are allowed. Whatever
   * it throws is a failure; but one that nobody looked at, because too many wait already, is none.
   * @throws {Fault} RATE_LIMIT_EXCEEDED, and what `attempt` throws
   */
  async trying<R>(key: string, attempt: () => Promise<R>): Promise<R> {
    const tries = this.#admit(key);
    tries.underWay++;
    try {
      const result = await attempt();
      if (this.options.forgiving) tries.failed = 0;
      return result;
    } catch (error) {
      if (!(error instanceof Fault && error.code === "UNAVAILABLE")) this.#fail(tries);
      throw error;
    } finally {
      tries.underWay--;
      if (tries.failed + tries.underWay === 0) this.#tries.delete(key);
    }
  }

  #admit(key: string): Tries {
    const tries = this.#tries.get(key) ?? { failed: 0, untilMs: 0, underWay: 0 };
    this.#tries.delete(key);
    this.#tries.set(key, tries);
    if (this.#tries.size > KEYS_MAX) this.#tries.delete(this.#tries.keys().next().value!);
    const failed = this.#failed(tries);
    if (failed >= TRIES_MAX) throw this.#refusal("failed", tries.untilMs - this.clock.now());
    if (failed + tries.underWay < TRIES_MAX) return tries;
    throw this.#refusal("are under way", UNDER_WAY_RETRY_MS);
  }

  #failed(tries: Tries): number {
    const now = this.clock.now();
    // A clock that was set back would lock people out for as long as it was wrong.
    tries.untilMs = Math.min(tries.untilMs, now + WINDOW_MS);
    return now < tries.untilMs ? tries.failed : 0;
  }

  #fail(tries: Tries): void {
    tries.failed = this.#failed(tries) + 1;
    if (tries.failed === 1) tries.untilMs = this.clock.now() + WINDOW_MS;
  }

  #refusal(what: string, waitMs: number): Fault {
    const retry_after = Math.ceil(waitMs / 1000);
    return new Fault(
      "RATE_LIMIT_EXCEEDED",
      `Too many tries ${what}. Try again in ${retry_after} s.`,
      {
        limit: TRIES_MAX,
        scope: this.options.scope,
        reset: Math.ceil((this.clock.now() + waitMs) / 1000),
        retry_after,
      },
    );
  }
}
