import { Fault } from "../../fault/fault.ts";
import type { Store } from "../../../kv/store/store.ts";
import { type AttemptCounts, type Attempts, SoleAttempts, StoredAttempts } from "./attempts.ts";

/** Failed attempts of one key within one window. */
const ATTEMPTS_MAX = 10;
const WINDOW_MS = 15 * 60 * 1000;
/** Retry soon: an unfinished attempt may end at any moment. */
const UNDER_WAY_RETRY_MS = 1_000;

/** Limits failed attempts to give a secret; unfinished attempts count too. */
export class FailureThrottle {
  readonly #counts: AttemptCounts;

  constructor(
    private readonly store: Pick<Store, "clock" | "sole" | "transact">,
    private readonly options: {
      /** The name of the limit in a refusal. */
      readonly scope: string;
      /** Whether a success clears the failures before it. */
      readonly forgiving: boolean;
    },
  ) {
    this.#counts = store.sole ? new SoleAttempts() : new StoredAttempts(store, options.scope);
  }

  /**
   * Runs one attempt, unless the maximum has failed or may still fail. Any error is a failure except
   * UNAVAILABLE, after which the secret was not checked.
   * @throws {Fault} RATE_LIMIT_EXCEEDED, and what `check` throws
   */
  async attempt<R>(key: string, check: () => Promise<R>): Promise<R> {
    const refusal = await this.#counts.change(key, (counts) => this.#admit(counts));
    if (refusal !== null) throw refusal;
    const [outcome] = await Promise.allSettled([check()]);
    await this.#counts.change(key, (counts) => this.#finish(counts, outcome));
    if (outcome.status === "rejected") throw outcome.reason;
    return outcome.value;
  }

  /** Counts an attempt that begins; null when it may. */
  #admit(counts: Attempts): Fault | null {
    const now = this.store.clock.now();
    const failed = this.#failed(counts);
    if (failed >= ATTEMPTS_MAX) return this.#refusal("failed", counts.untilMs - now);
    if (failed + counts.underWay >= ATTEMPTS_MAX) {
      return this.#refusal("are in progress", UNDER_WAY_RETRY_MS);
    }
    if (failed + counts.underWay === 0) counts.untilMs = now + WINDOW_MS;
    counts.failed = failed;
    counts.underWay++;
    return null;
  }

  #finish(counts: Attempts, outcome: PromiseSettledResult<unknown>): void {
    counts.underWay = Math.max(0, counts.underWay - 1);
    if (outcome.status === "fulfilled") {
      if (this.options.forgiving) counts.failed = 0;
    } else if (!(outcome.reason instanceof Fault && outcome.reason.code === "UNAVAILABLE")) {
      this.#fail(counts);
    }
  }

  #failed(counts: Attempts): number {
    const now = this.store.clock.now();
    // After the clock was set back, the failures still expire within one window.
    counts.untilMs = Math.min(counts.untilMs, now + WINDOW_MS);
    return now < counts.untilMs ? counts.failed : 0;
  }

  #fail(counts: Attempts): void {
    counts.failed = this.#failed(counts) + 1;
    if (counts.failed === 1) counts.untilMs = this.store.clock.now() + WINDOW_MS;
  }

  #refusal(what: string, waitMs: number): Fault {
    const retry_after = Math.ceil(waitMs / 1000);
    return new Fault(
      "RATE_LIMIT_EXCEEDED",
      `Too many attempts ${what}. Try again in ${retry_after} s.`,
      {
        limit: ATTEMPTS_MAX,
        scope: this.options.scope,
        reset: Math.ceil((this.store.clock.now() + waitMs) / 1000),
        retry_after,
      },
    );
  }
}
