import { deleteKey, type Mutation } from "./change.ts";

/** A key that is never set. */
const PROBE: Deno.KvKey = ["~", "probe"];

/** Whether the engine accepts commits. */
export class WriteHealth {
  #failure: Error | null = null;
  #listener: (failure: Error | null) => void = () => {};

  /** Why the last commit failed; null when it succeeded. */
  get failure(): Error | null {
    return this.#failure;
  }

  /** Calls `listener` when commits begin to fail, and with null when one succeeds again. */
  onChange(listener: (failure: Error | null) => void): void {
    this.#listener = listener;
  }

  /** Records the outcome of a commit: null for success. */
  record(failure: Error | null): void {
    const changed = (failure === null) !== (this.#failure === null);
    this.#failure = failure;
    if (changed) this.#listener(failure);
  }
}

/** What `assertWritable` needs of a store. */
interface Writable {
  readonly health: WriteHealth;
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
