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

/** Variables: an array is known by its words too, until its name is set as a whole. */
export class Values {
  readonly #texts: Names<string>;
  #lists: Names<readonly string[] | null> | null;

  constructor(texts = new Names<string>(), lists: Names<readonly string[] | null> | null = null) {
    this.#texts = texts;
    this.#lists = lists;
  }

  get(name: string): string | undefined {
    return this.#texts.get(name);
  }

  list(name: string): readonly string[] | null {
    return this.#lists?.get(name) ?? null;
  }

  set(name: string, value: string): void {
    this.#texts.set(name, value);
    if (this.list(name) !== null) this.#lists?.set(name, null);
  }

  setList(name: string, words: readonly string[], text = words.join(" ")): void {
    this.#texts.set(name, text);
    this.#lists ??= new Names();
    this.#lists.set(name, words);
  }

  fork(): Values {
    return new Values(this.#texts.fork(), this.#lists?.fork());
  }
}
