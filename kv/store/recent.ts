/**
 * A map that keeps what was used lately, at most `limit` entries, in two generations: a full young one
 * becomes the old one, whose entries are dropped unless they are asked for again. Unlike a map that
 * evicts one by one it never walks over deleted entries.
 */
export class RecentMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  readonly #half: number;

  constructor(limit: number) {
    this.#half = Math.max(1, limit >> 1);
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old !== undefined) this.set(key, old);
    return old;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) this.age();
    this.#young.set(key, value);
  }

  /** Begins a generation: what was not used since the last one began is dropped. */
  age(): void {
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
