import { hash } from "node:crypto";
import { secretAttempts } from "../../../kv/records/secret_attempts.ts";
import { ContentionError, StoreUnavailableError } from "../../../kv/engine/errors.ts";
import { isImplausible } from "../../../kv/store/clock.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import { MINUTE_MS } from "../../../kv/store/durations.ts";
import type { Store } from "../../../kv/store/store.ts";
import { Fault, type LimitHolder, limitReached } from "../../fault/fault.ts";

/** Whose attempts are counted together. */
export interface Attempted {
  readonly key: string;
  readonly of: LimitHolder;
  /** The same as text. */
  readonly whose: string;
}

interface Attempts {
  failed: number;
  /** When the failures expire, counted from the first. */
  until_ms: number;
  /** Unfinished attempts, each of which may still fail. */
  under_way: number;
}

/** Failed attempts of one key within one window. */
const ATTEMPTS_MAX = 10;
const WINDOW_MS = 15 * MINUTE_MS;
/** Retry soon: an unfinished attempt may end at any moment. */
const UNDER_WAY_RETRY_MS = 1_000;
const KEYS_MAX = 50_000;

/**
 * Limits failed attempts to enter a secret; unfinished attempts count too. A sole process counts in memory, several
 * instances in the store. There, an attempt whose process died counts as unfinished until nobody has tried for a window.
 */
export class FailureThrottle {
  readonly #own = new Map<string, Attempts>();
  #failures = 0;

  constructor(
    private readonly store: Store,
    private readonly options: {
      /** The name of the limit in a refusal. */
      readonly scope: string;
      /** Whether a success clears the failures before it. */
      readonly forgiving: boolean;
    },
  ) {}

  /** How many attempts have failed in this process. */
  get failures(): number {
    return this.#failures;
  }

  /**
   * Runs one attempt, unless the maximum has failed or may still fail. Any error is a failure except
   * UNAVAILABLE, after which the secret was not checked.
   * @throws {Fault} RATE_LIMIT_EXCEEDED, and what `check` throws
   */
  async attempt<R>(who: Attempted, check: () => Promise<R>): Promise<R> {
    const { key } = who;
    await this.#change(key, (attempts) => this.#admit(who, attempts));
    const [outcome] = await Promise.allSettled([check()]);
    await this.#change(key, (attempts) => this.#end(attempts, outcome)).catch((error) => {
      // An end that is not recorded leaves the attempt unfinished, which counts as well.
      if (!isUnchecked(error)) throw error;
    });
    if (outcome.status === "fulfilled") return outcome.value;
    if (!isUnchecked(outcome.reason)) this.#failures++;
    throw outcome.reason;
  }

  /** Changes the attempts of a key. `change` may run several times. */
  async #change(key: string, change: (attempts: Attempts) => void): Promise<void> {
    if (this.store.sole) return this.#changeOwn(key, change);
    const id = `${this.options.scope} ${hash("sha256", key)}`;
    await this.store.transact(async (tx) => {
      const row = await tx.get(secretAttempts, SYSTEM, id);
      const isOff = row !== null && isImplausible(row.until_ms, WINDOW_MS, this.store.clock.now());
      const { failed, until_ms, under_way } = row === null || isOff ? none() : row;
      const attempts = { failed, until_ms, under_way };
      change(attempts);
      const expires_at_ms = this.store.clock.now() + WINDOW_MS;
      if (isNone(attempts)) tx.delete(secretAttempts, SYSTEM, id);
      else tx.put(secretAttempts, SYSTEM, { id, ...attempts, expires_at_ms });
    });
  }

  #changeOwn(key: string, change: (attempts: Attempts) => void): void {
    const attempts = this.#own.get(key) ?? none();
    this.#own.delete(key);
    this.#own.set(key, attempts);
    if (this.#own.size > KEYS_MAX) this.#own.delete(this.#own.keys().next().value!);
    change(attempts);
    if (isNone(attempts)) this.#own.delete(key);
  }

  #admit(who: Attempted, attempts: Attempts): void {
    const failed = this.#failed(attempts);
    if (failed >= ATTEMPTS_MAX) {
      throw this.#refusal(who, "failed", attempts.until_ms - this.store.clock.now());
    }
    if (failed + attempts.under_way >= ATTEMPTS_MAX) {
      throw this.#refusal(who, "are in progress", UNDER_WAY_RETRY_MS);
    }
    attempts.under_way++;
  }

  #end(attempts: Attempts, outcome: PromiseSettledResult<unknown>): void {
    // The row may have expired meanwhile.
    attempts.under_way = Math.max(0, attempts.under_way - 1);
    if (outcome.status === "fulfilled") {
      if (this.options.forgiving) attempts.failed = 0;
      return;
    }
    if (isUnchecked(outcome.reason)) return;
    attempts.failed = this.#failed(attempts) + 1;
    if (attempts.failed === 1) attempts.until_ms = this.store.clock.now() + WINDOW_MS;
  }

  #failed(attempts: Attempts): number {
    const now = this.store.clock.now();
    // After the clock was set back, the failures still expire within one window.
    attempts.until_ms = Math.min(attempts.until_ms, now + WINDOW_MS);
    return now < attempts.until_ms ? attempts.failed : 0;
  }

  #refusal({ of, whose }: Attempted, what: string, waitMs: number): Fault {
    const retry_after = Math.ceil(waitMs / 1000);
    return limitReached(
      `Too many attempts ${whose} ${what}: at most ${ATTEMPTS_MAX} may fail in ` +
        `${WINDOW_MS / MINUTE_MS} minutes. Try again in ${retry_after} s.`,
      {
        limit: ATTEMPTS_MAX,
        scope: this.options.scope,
        of,
        raise: null,
        reset: Math.ceil((this.store.clock.now() + waitMs) / 1000),
        retry_after,
      },
    );
  }
}

/** True for an error that tells nothing of the secret. */
const isUnchecked = (error: unknown): boolean =>
  error instanceof StoreUnavailableError || error instanceof ContentionError ||
  error instanceof Fault && error.code === "UNAVAILABLE";

const none = (): Attempts => ({ failed: 0, until_ms: 0, under_way: 0 });

const isNone = ({ failed, under_way }: Attempts) => failed + under_way === 0;
