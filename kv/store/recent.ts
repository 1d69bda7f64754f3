/**
 * A cache of at most `limit` recently used entries, in two generations. A full young generation becomes the
 * old one, whose entries are dropped unless they are read again. A map that evicts single entries would
 * iterate over deleted ones.
 */
export class RecentMap<V> {
  #young = new Map<string, V>();
  #old = new Map<string, V>();
  #evicted = 0;
  readonly #half: number;

  constructor(limit: number) {
    this.#half = Math.max(1, limit >> 1);
  }

  get(key: string): V | undefined {
    const young = this.#young.get(key);
    if (young !== undefined) return young;
    const old = this.#old.get(key);
    if (old === undefined) return undefined;
    this.#old.delete(key);
    this.set(key, old);
    return old;
  }

  /** How many entries were dropped to make room. */
  get evicted(): number {
    return this.#evicted;
  }

  set(key: string, value: V): void {
    if (this.#young.size >= this.#half && !this.#young.has(key)) this.age();
    this.#young.set(key, value);
  }

  /** Begins a generation and drops the entries that the last one did not use. */
  age(): void {
    this.#evicted += this.#old.size;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
