import { deleteKey } from "./change.ts";
import { slotOf } from "./collection.ts";
import { coalescedLineAt } from "./coalesced.ts";
import type { Cancel } from "./clock.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

const SWEEP_MS = 500;
const DELETES_MAX = 500;
const decoder = new TextDecoder();
const journalKey = (name: string) => ["~", "lane", name];

/**
 * A journal of what is under way. One value a commit holds what all of its callers began, so beginning
 * costs no write of its own; the value goes when the last of them has ended. What a crash leaves is
 * exactly what had begun and was not yet forgotten.
 */
export class Journal {
  readonly #open = new Map<string, number>();
  readonly #done: string[] = [];
  #timer: Cancel | null = null;

  readonly #at: { readonly key: Deno.KvKey; readonly slot: string };

  constructor(
    private readonly store: Store,
    private readonly name: string,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#at = { key: journalKey(name), slot: slotOf(journalKey(name)) };
  }

  /** Puts a beginning on record; answers what `end` wants. */
  async begin(text: string): Promise<string> {
    const place = await this.store.coalesce(coalescedLineAt(this.#at, text));
    this.#began(place);
    return place;
  }

  /** The same in a transaction; `begun` gets the place once it has committed. */
  beginIn(tx: Tx, text: string, begun: (place: string) => void): void {
    tx.coalesce(coalescedLineAt(this.#at, text));
    tx.afterCommit((place) => {
      this.#began(place);
      begun(place);
    });
  }

  /** What began at that place has ended, and that is on record elsewhere. */
  end(place: string): void {
    const left = (this.#open.get(place) ?? 0) - 1;
    if (left > 0) {
      this.#open.set(place, left);
      return;
    }
    this.#open.delete(place);
    this.#done.push(place);
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

  #began(place: string): void {
    this.#open.set(place, (this.#open.get(place) ?? 0) + 1);
  }

  /** Deletes values of which everything has ended. */
  async sweep(): Promise<void> {
    while (this.#done.length > 0) {
      const places = this.#done.splice(0, DELETES_MAX);
      try {
        await deleteEntries(this.store, this.name, places);
      } catch (error) {
        this.#done.push(...places);
        throw error;
      }
    }
  }

  /** Sweeps, and starts no timer any more. */
  async stop(): Promise<void> {
    this.#timer?.();
    await this.sweep();
  }
}

/** Every value of the journals whose name begins with `prefix`, with its lines. */
export async function* readJournals(
  store: Store,
  prefix: string,
): AsyncGenerator<{ name: string; place: string; texts: string[] }> {
  const all = { prefix: journalKey("").slice(0, -1) };
  for await (const { key, value } of store.kv.list<Uint8Array>(all)) {
    const [name, place] = key.slice(-2) as [string, string];
    if (name.startsWith(prefix)) yield { name, place, texts: decoder.decode(value).split("\n") };
  }
}

/** Forgets values of a journal. */
export async function deleteEntries(
  store: Store,
  name: string,
  places: readonly string[],
): Promise<void> {
  await store.transact((tx) => {
    for (const place of places) tx.stage(deleteKey([...journalKey(name), place]));
  });
}
