import type { Clock } from "../store/clock.ts";
import { isRefusal, StoreUnavailableError, withoutUsers } from "./errors.ts";
import type { StoreHealth } from "./health.ts";

/** How long a caller waits for one call of a database server, in ms: a request that meets an outage ends within 5 s. */
export const CALL_MS = 4_000;
/** While the server does not answer, one call per this many ms is let through. */
const PROBE_MS = 500;

/**
 * A database server with a deadline for each call. Its client retries a failed call without end, so a call that
 * exceeds CALL_MS fails here and may still succeed later. From then on calls fail at once, except one per PROBE_MS,
 * until a call succeeds. Callers therefore do not wait during an outage, and no calls pile up for the server's return.
 */
export class BoundedKv {
  #away = false;
  #probedAtMs = 0;

  constructor(
    private readonly kv: Deno.Kv,
    private readonly clock: Clock,
    private readonly health: Pick<StoreHealth, "reach">,
  ) {}

  get(...args: Parameters<Deno.Kv["get"]>) {
    return this.#call(() => this.kv.get(...args));
  }

  getMany(...args: Parameters<Deno.Kv["getMany"]>) {
    return this.#call(() => this.kv.getMany(...args));
  }

  set(...args: Parameters<Deno.Kv["set"]>) {
    return this.#call(() => this.kv.set(...args));
  }

  delete(...args: Parameters<Deno.Kv["delete"]>) {
    return this.#call(() => this.kv.delete(...args));
  }

  list(...args: Parameters<Deno.Kv["list"]>) {
    const iterator = this.kv.list(...args);
    const next = iterator.next.bind(iterator);
    iterator.next = () => this.#call(next);
    return iterator;
  }

  atomic() {
    const operation = this.kv.atomic();
    const commit = operation.commit.bind(operation);
    operation.commit = () => this.#call(commit);
    return operation;
  }

  watch(...args: Parameters<Deno.Kv["watch"]>) {
    return this.kv.watch(...args);
  }

  commitVersionstamp() {
    return this.kv.commitVersionstamp();
  }

  close() {
    this.kv.close();
  }

  /** @throws {StoreUnavailableError} */
  #call<R>(call: () => Promise<R>): Promise<R> {
    const nowMs = this.clock.now();
    if (this.#away) {
      if (Math.abs(nowMs - this.#probedAtMs) < PROBE_MS) {
        return Promise.reject(new StoreUnavailableError("the database server does not answer"));
      }
      this.#probedAtMs = nowMs;
    }
    return new Promise((resolve, reject) => {
      const cancel = this.clock.after(CALL_MS, () => reject(this.#late()));
      call().then(
        (result) => {
          this.#answered();
          resolve(result);
        },
        (error) => reject(isRefusal(error) ? error : failed(error)),
      ).finally(cancel);
    });
  }

  #late(): StoreUnavailableError {
    const why = `the database server did not answer within ${CALL_MS / 1000} s`;
    const error = new StoreUnavailableError(why);
    if (!this.#away) {
      this.#away = true;
      this.#probedAtMs = this.clock.now();
      this.health.reach(error);
    }
    return error;
  }

  #answered(): void {
    if (!this.#away) return;
    this.#away = false;
    this.health.reach(null);
  }
}

function failed(cause: unknown): StoreUnavailableError {
  const why = withoutUsers(cause instanceof Error ? cause.message : String(cause));
  return new StoreUnavailableError(`the database server failed: ${why}`, { cause });
}
