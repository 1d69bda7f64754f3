import type { Named } from "./collection.ts";
import { RecentMap } from "./recent.ts";

/** The result of a point read. */
export interface Entry {
  readonly value: unknown;
  readonly versionstamp: string | null;
}

/**
 * A read cache for a process that is its store's only writer. A commit updates or drops the keys that it
 * changes before its callers are answered, and a load that a commit or a newer value overtook is not kept.
 * So a request that starts after an answer never sees an older value.
 */
export class ReadCache {
  readonly #entries = new Map<string, RecentMap<Entry>>();
  readonly #loading = new Map<string, Set<object>>();

  get(group: string, keyText: string): Entry | undefined {
    return this.#entries.get(group)?.get(keyText);
  }

  /** How many records were dropped to make room, by collection. */
  evictions(): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const [group, { evicted }] of this.#entries) {
      const name = group.replace(/(?:\.|\[\])$/, "");
      counts.set(name, (counts.get(name) ?? 0) + evicted);
    }
    return counts;
  }

  /** Reads through the cache; `limit` is how many entries `group` may hold. */
  async load(
    group: string,
    limit: number,
    keyText: string,
    read: () => Promise<Entry>,
  ): Promise<Entry> {
    const ticket = {};
    const tickets = this.#loading.get(keyText) ?? new Set();
    this.#loading.set(keyText, tickets.add(ticket));
    try {
      const entry = await read();
      // A load that began later may be answered first, with a commit that is not answered yet.
      const newest = this.get(group, keyText)?.versionstamp ?? "";
      if (entry.versionstamp !== null && entry.versionstamp >= newest && tickets.has(ticket)) {
        this.#keep(group, limit, keyText, entry);
      }
      return entry;
    } finally {
      if (tickets.delete(ticket) && tickets.size === 0 && this.#loading.get(keyText) === tickets) {
        this.#loading.delete(keyText);
      }
    }
  }

  #keep(group: string, limit: number, keyText: string, entry: Entry): void {
    let entries = this.#entries.get(group);
    if (entries === undefined) this.#entries.set(group, entries = new RecentMap(limit));
    entries.set(keyText, entry);
  }

  /**
   * Call it when a commit that changes `keyText` has ended and before it is answered. Loads in flight may have
   * read the old value, so they are not kept. The key is set to `entry`, or dropped when that is null.
   */
  changed(keyText: string, group: string, limit: number, entry: Entry | null): void {
    this.#abandon(keyText);
    this.#entries.get(group)?.delete(keyText);
    if (entry !== null) this.#keep(group, limit, keyText, entry);
  }

  /** Drops one key, because the engine denied a check of its value. */
  drop(keyText: string): void {
    this.#abandon(keyText);
    for (const entries of this.#entries.values()) entries.delete(keyText);
  }

  #abandon(keyText: string): void {
    this.#loading.get(keyText)?.clear();
    this.#loading.delete(keyText);
  }
}

/** The group of a collection's complete lists, one entry per tenant; `group` is that of its single rows. */
export const wholeGroup = (group: string): string => `${group}[]`;

/** The group of a collection's unique keys. */
export const pointerGroup = ({ name }: Named): string => `${name}.`;

/** Makes a mutation of a row update the cache. */
export const cacheOf = ({ name, cached }: Named) =>
  cached === 0 ? {} : { cache: { group: name, limit: cached } };

/** Makes a mutation of a unique key update the cache. */
export const pointerCacheOf = (of: Named) =>
  of.cached === 0 ? {} : { cache: { group: pointerGroup(of), limit: of.cached } };
