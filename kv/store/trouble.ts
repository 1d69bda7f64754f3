import { deleteKey, type Mutation } from "./change.ts";

/** A key that nothing is ever kept under. */
const PROBE: Deno.KvKey = ["~", "probe"];

/** Whether the engine makes commits. */
export class Trouble {
  #why: Error | null = null;
  #listener: (why: Error | null) => void = () => {};

  /** Why the last commit failed; null while they are made. */
  get why(): Error | null {
    return this.#why;
  }

  /** Calls `listener` when commits begin to fail, and with null when one is made again. */
  onTurn(listener: (why: Error | null) => void): void {
    this.#listener = listener;
  }

  /** The engine has made a commit, or failed for this reason. */
  met(why: Error | null): void {
    const turns = (why === null) !== (this.#why === null);
    this.#why = why;
    if (turns) this.#listener(why);
  }
}

/** What `mustTakeChanges` needs of a store. */
interface Writable {
  readonly trouble: Trouble;
  transact(work: (tx: { stage(mutation: Mutation): void }) => void): Promise<void>;
}

/**
 * Resolves when changes can be committed: after a failure, one that changes nothing is tried.
 * @throws {StoreUnavailableError}
 */
export async function mustTakeChanges(store: Writable): Promise<void> {
  if (store.trouble.why === null) return;
  await store.transact((tx) => tx.stage(deleteKey(PROBE)));
}
