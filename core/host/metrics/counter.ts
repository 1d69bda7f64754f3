import type { Family, Sample } from "./family.ts";

/** Separates the values of two labels in a key. */
const BETWEEN = "\0";

/** Counts by the values of one or two labels, which must come from a bounded set. */
export class Counter implements Family {
  readonly type = "counter";
  readonly #counts = new Map<string, number>();

  /** `known` are values to begin at zero, so that the first one shows as an increase. */
  constructor(
    readonly name: string,
    readonly help: string,
    private readonly labels: readonly [string] | readonly [string, string],
    known: readonly string[] = [],
  ) {
    for (const value of known) this.#counts.set(value, 0);
  }

  /** Adds one to the count of these values. */
  add(first: string, second?: string): void {
    const key = second === undefined ? first : `${first}${BETWEEN}${second}`;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
  }

  get values(): Sample[] {
    return [...this.#counts].map(([key, value]) => {
      const values = key.split(BETWEEN);
      const labels = Object.fromEntries(this.labels.map((label, at) => [label, values[at]!]));
      return { labels, value };
    });
  }
}
