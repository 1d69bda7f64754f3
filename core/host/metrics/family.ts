/** One figure of a family. */
export interface Sample {
  readonly value: number;
  readonly labels?: Readonly<Record<string, string>>;
  /** Its name, when it is not the family's. */
  readonly metricName?: string;
}

/** The figures of one name, as Prometheus reads them. Names end in their unit, those of counters in `_total`. */
export interface Family {
  readonly name: string;
  readonly help: string;
  readonly type: "counter" | "gauge" | "histogram";
  readonly values: readonly Sample[];
}
