import type { Family, Sample } from "./family.ts";

/** Counts durations in buckets. Adding one takes no memory. */
export class Buckets {
  /** Durations in each bucket, and beyond the last. */
  readonly #counts: Float64Array;
  #sum = 0;

  /** `bounds` are the upper bounds of the buckets, in seconds, ascending. */
  constructor(private readonly bounds: readonly number[]) {
    this.#counts = new Float64Array(bounds.length + 1);
  }

  add(seconds: number): void {
    let bucket = 0;
    while (bucket < this.bounds.length && seconds > this.bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += seconds;
  }

  /** The samples of the family `name`. */
  samples(name: string, labels: Readonly<Record<string, string>> = {}): Sample[] {
    let count = 0;
    const buckets = [...this.#counts].map((n, at) => ({
      metricName: `${name}_bucket`,
      labels: { le: `${this.bounds[at] ?? "+Inf"}`, ...labels },
      value: count += n,
    }));
    return [
      ...buckets,
      { metricName: `${name}_sum`, labels, value: this.#sum },
      { metricName: `${name}_count`, labels, value: count },
    ];
  }
}

/** A family of durations without labels. */
export class Histogram implements Family {
  readonly type = "histogram";
  readonly #buckets: Buckets;

  constructor(readonly name: string, readonly help: string, bounds: readonly number[]) {
    this.#buckets = new Buckets(bounds);
  }

  /** Counts a duration. One that is negative, after a step of the clock, or no number counts as none. */
  add(ms: number): void {
    this.#buckets.add(ms > 0 ? ms / 1000 : 0);
  }

  get values(): Sample[] {
    return this.#buckets.samples(this.name);
  }
}
