import { deleteKey, type Mutation } from "../store/change.ts";

/** A key that is never set. */
const PROBE: Deno.KvKey = ["~", "probe"];

/** Whether the engine answers and accepts commits. */
export class StoreHealth {
  #unreachable: Error | null = null;
  #refused: Error | null = null;
  #listener: (failure: Error | null) => void = () => {};
  #returned: () => void = () => {};

  /** Why the engine does not answer, or why the last commit failed; null when all is well. */
  get failure(): Error | null {
    return this.#unreachable ?? this.#refused;
  }

  /** Calls `listener` when calls begin to fail, and with null when they succeed again. */
  onChange(listener: (failure: Error | null) => void): void {
    this.#listener = listener;
  }

  /** Calls `listener` when an engine that did not answer answers again. */
  onReturn(listener: () => void): void {
    this.#returned = listener;
  }

  /** Records the outcome of a commit: null for success. */
  record(failure: Error | null): void {
    this.#change(() => this.#refused = failure);
  }

  /** Records that the engine does not answer, or null when it answers again. */
  reach(failure: Error | null): void {
    // Commits that failed meanwhile failed for the same reason.
    this.#change(() => this.#unreachable = this.#refused = failure);
    if (failure === null) this.#returned();
  }

  #change(apply: () => void): void {
    const before = this.failure;
    apply();
    if ((before === null) !== (this.failure === null)) this.#listener(this.failure);
  }
}

/** What `assertWritable` needs of a store. */
interface Writable {
  readonly health: StoreHealth;
  transact(work: (tx: { stage(mutation: Mutation): void }) => void): Promise<void>;
}

/**
 * Resolves when the store accepts commits. After a failure it commits a change without effect.
 * @throws {StoreUnavailableError}
 */
export async function assertWritable(store: Writable): Promise<void> {
  if (store.health.failure === null) return;
  await store.transact((tx) => tx.stage(deleteKey(PROBE)));
}
