interface Entry {
  readonly labels: Readonly<Record<string, string>>;
  count: number;
}

/** Counts by the values of their labels. */
export class LabelledCounts implements Iterable<Readonly<Entry>> {
  readonly #entries = new Map<string, Entry>();

  constructor(readonly labels: string[]) {}

  /** Adds to the count of these values, given in the order of the labels. */
  add(values: readonly string[], n = 1): void {
    const key = values.join("\0");
    const entry = this.#entries.get(key);
    if (entry !== undefined) entry.count += n;
    else {
      const labels = Object.fromEntries(this.labels.map((label, at) => [label, values[at]!]));
      this.#entries.set(key, { labels, count: n });
    }
  }

  [Symbol.iterator](): Iterator<Readonly<Entry>> {
    return this.#entries.values();
  }
}
