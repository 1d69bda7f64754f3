/** Named values that are shared with the place they were taken from until one of them is set. */
export class Names<V> {
  #map: Map<string, V>;
  #own: boolean;

  constructor(map: Map<string, V> = new Map(), own = true) {
    this.#map = map;
    this.#own = own;
  }

  get(name: string): V | undefined {
    return this.#map.size === 0 ? undefined : this.#map.get(name);
  }

  set(name: string, value: V): void {
    if (!this.#own) this.#map = new Map(this.#map);
    this.#own = true;
    this.#map.set(name, value);
  }

  /** A copy for an inner place; the outer one must not be set while the copy is in use. */
  fork(): Names<V> {
    return new Names(this.#map, false);
  }
}
