import { deleteKey } from "./change.ts";
import { keyTextOf } from "./collection.ts";
import { coalescedLineAt } from "./coalesced.ts";
import type { Cancel } from "./clock.ts";
import type { Store } from "./store.ts";
import type { Trace } from "./trace.ts";
import type { Tx } from "./tx.ts";

const SWEEP_MS = 500;
const DELETES_MAX = 500;
const decoder = new TextDecoder();
const journalKey = (name: string) => ["~", "lane", name];

/**
 * A journal of work in progress. One entry holds the work that all callers of one commit began, so beginning
 * costs no write of its own. The entry is deleted when the last of that work has ended, so after a crash the
 * journal holds what had begun and not ended.
 */
export class Journal {
  readonly #open = new Map<string, number>();
  readonly #ended: string[] = [];
  #timer: Cancel | null = null;

  readonly #at: { readonly key: Deno.KvKey; readonly keyText: string };

  constructor(
    private readonly store: Store,
    private readonly name: string,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#at = { key: journalKey(name), keyText: keyTextOf(journalKey(name)) };
  }

  /** Records that work began. Returns its entry, for `end`. */
  async begin(text: string, trace: Trace | null = null): Promise<string> {
    const entry = await this.store.coalesce(coalescedLineAt(this.#at, text), trace);
    this.#count(entry);
    return entry;
  }

  /** The same in a transaction; `begun` is called with the entry after the commit. */
  beginIn(tx: Tx, text: string, begun: (entry: string) => void): void {
    tx.coalesce(coalescedLineAt(this.#at, text));
    tx.afterCommit((entry) => {
      this.#count(entry);
      begun(entry);
    });
  }

  /** Ends one work of an entry. Its end must be stored elsewhere before. */
  end(entry: string): void {
    const left = (this.#open.get(entry) ?? 0) - 1;
    if (left > 0) {
      this.#open.set(entry, left);
      return;
    }
    this.#open.delete(entry);
    this.#ended.push(entry);
    this.#sweepSoon();
  }

  #sweepSoon(): void {
    this.#timer ??= this.store.clock.after(SWEEP_MS, () => {
      this.#timer = null;
      this.sweep().catch((error) => {
        this.onError(error);
        if (!this.store.closing) this.#sweepSoon();
      });
    });
  }

  #count(entry: string): void {
    this.#open.set(entry, (this.#open.get(entry) ?? 0) + 1);
  }

  /** Deletes entries of which all work has ended. */
  async sweep(): Promise<void> {
    while (this.#ended.length > 0) {
      const entries = this.#ended.splice(0, DELETES_MAX);
      try {
        await deleteEntries(this.store, this.name, entries);
      } catch (error) {
        this.#ended.push(...entries);
        throw error;
      }
    }
  }

  /** Sweeps and cancels the timer. */
  async stop(): Promise<void> {
    this.#timer?.();
    await this.sweep();
  }
}

/** Every entry of the journals whose name begins with `prefix`, with its lines. */
export async function* readJournals(
  store: Store,
  prefix: string,
): AsyncGenerator<{ name: string; entry: string; texts: string[] }> {
  const range = { start: journalKey(prefix), end: journalKey(`${prefix}\u{10ffff}`) };
  for await (const { key, value } of store.kv.list<Uint8Array>(range)) {
    const [name, entry] = key.slice(-2) as [string, string];
    yield { name, entry, texts: decoder.decode(value).split("\n") };
  }
}

/** Deletes entries of a journal. */
export async function deleteEntries(
  store: Store,
  name: string,
  entries: readonly string[],
): Promise<void> {
  await store.transact((tx) => {
    for (const entry of entries) tx.stage(deleteKey([...journalKey(name), entry]));
  });
}
