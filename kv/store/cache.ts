import type { Named } from "./collection.ts";
import { RecentMap } from "./recent.ts";

/** A point read as the store sees it. */
export interface Entry {
  readonly value: unknown;
  readonly versionstamp: string | null;
}

/**
 * Records in memory, for a process that is its store's only writer. A slot is forgotten by the commit
 * that changes it before that commit is answered, and a load that a commit overtook is not kept, so
 * no request that starts after an answer sees what was before it.
 */
export class ReadCache {
  readonly #entries = new Map<string, RecentMap<Entry>>();
  readonly #loading = new Map<string, Set<object>>();

  get(group: string, slot: string): Entry | undefined {
    return this.#entries.get(group)?.get(slot);
  }

  /** Loads through the cache; `limit` is how many entries `group` may hold. */
  async load(
    group: string,
    limit: number,
    slot: string,
    read: () => Promise<Entry>,
  ): Promise<Entry> {
    const ticket = {};
    const tickets = this.#loading.get(slot) ?? new Set();
    this.#loading.set(slot, tickets.add(ticket));
    try {
      const entry = await read();
      if (entry.versionstamp !== null && tickets.has(ticket)) this.#keep(group, limit, slot, entry);
      return entry;
    } finally {
      if (tickets.delete(ticket) && tickets.size === 0 && this.#loading.get(slot) === tickets) {
        this.#loading.delete(slot);
      }
    }
  }

  #keep(group: string, limit: number, slot: string, entry: Entry): void {
    let entries = this.#entries.get(group);
    if (entries === undefined) this.#entries.set(group, entries = new RecentMap(limit));
    entries.set(slot, entry);
  }

  /**
   * A commit that changes `slot` has ended, and is about to be answered: loads under way may have read
   * either side of it. With `entry` the new value is kept, without it the slot is forgotten.
   */
  changed(slot: string, group: string, limit: number, entry: Entry | null): void {
    this.#abandon(slot);
    this.#entries.get(group)?.delete(slot);
    if (entry !== null) this.#keep(group, limit, slot, entry);
  }

  /** Forgets one slot, because the engine has denied what memory said of it. */
  forget(slot: string): void {
    this.#abandon(slot);
    for (const entries of this.#entries.values()) entries.delete(slot);
  }

  #abandon(slot: string): void {
    this.#loading.get(slot)?.clear();
    this.#loading.delete(slot);
  }
}

/** Which group holds all rows of a tenant together, by the group of its rows. */
export const wholeGroup = (group: string): string => `${group}[]`;

/** Which group holds a collection's unique keys. */
export const pointerGroup = ({ name }: Named): string => `${name}.`;

/** The group of a collection's rows, for a mutation. */
export const cacheOf = ({ name, cached }: Named) =>
  cached === 0 ? {} : { cache: { group: name, limit: cached } };

/** The group of a collection's unique keys, for a mutation. */
export const pointerCacheOf = (of: Named) =>
  of.cached === 0 ? {} : { cache: { group: pointerGroup(of), limit: of.cached } };
