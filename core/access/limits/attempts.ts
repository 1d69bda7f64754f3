import { isDeepStrictEqual } from "node:util";
import { attempts } from "../../../kv/records/attempts.ts";
import { SYSTEM } from "../../../kv/store/collection.ts";
import type { Store } from "../../../kv/store/store.ts";

/** Attempts of one key within one window. */
export interface Attempts {
  failed: number;
  /** When the failures expire, counted from the first. */
  untilMs: number;
  /** Unfinished attempts, each of which may still fail. */
  underWay: number;
}

/** Where a throttle keeps its counts. */
export interface AttemptCounts {
  /** Changes the counts of one key and returns what `change` returns; nothing changes when it throws. */
  change<R>(key: string, change: (counts: Attempts) => R): R | Promise<R>;
}

const NONE: Attempts = { failed: 0, untilMs: 0, underWay: 0 };
const KEYS_MAX = 50_000;

/** Counts in the memory of the store's only process; the least recently used are forgotten. */
export class SoleAttempts implements AttemptCounts {
  readonly #all = new Map<string, Attempts>();

  change<R>(key: string, change: (counts: Attempts) => R): R {
    const counts = this.#all.get(key) ?? { ...NONE };
    this.#all.delete(key);
    this.#all.set(key, counts);
    if (this.#all.size > KEYS_MAX) this.#all.delete(this.#all.keys().next().value!);
    try {
      return change(counts);
    } finally {
      if (counts.failed + counts.underWay === 0) this.#all.delete(key);
    }
  }
}

/** Counts in the store, so that guesses spread over several instances count together. */
export class StoredAttempts implements AttemptCounts {
  constructor(private readonly store: Pick<Store, "transact">, private readonly scope: string) {}

  change<R>(key: string, change: (counts: Attempts) => R): Promise<R> {
    const id = `${this.scope} ${key}`;
    return this.store.transact(async (tx) => {
      const before = await tx.get(attempts, SYSTEM, id);
      const counts: Attempts = before === null
        ? { ...NONE }
        : { failed: before.failed, untilMs: before.until_ms, underWay: before.under_way };
      const result = change(counts);
      const { failed, untilMs, underWay } = counts;
      if (failed + underWay > 0) {
        const record = { id, failed, until_ms: untilMs, under_way: underWay };
        if (!isDeepStrictEqual(record, before)) tx.put(attempts, SYSTEM, record);
      } else if (before !== null) tx.delete(attempts, SYSTEM, id);
      return result;
    });
  }
}
