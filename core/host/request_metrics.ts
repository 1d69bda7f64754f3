/** Upper bounds of the buckets, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** The totals of one route. */
interface Counts {
  readonly byStatus: Map<number, number>;
  /** Requests in each bucket, and beyond the last. */
  readonly buckets: number[];
  seconds: number;
}

/**
 * Counts requests and their durations, in Prometheus' text format. It runs for every request, refused ones
 * included, where a general library's labels would cost more than the refusal.
 */
export class RequestMetrics {
  readonly #routes = new Map<string, Counts>();

  /** Counts an answered request. `route` must not need escaping. */
  add(route: string, status: number, ms: number): void {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      const buckets = Array.from({ length: BUCKETS.length + 1 }, () => 0);
      this.#routes.set(route, counts = { byStatus: new Map(), buckets, seconds: 0 });
    }
    const seconds = ms / 1000;
    let bucket = 0;
    while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
    counts.buckets[bucket]!++;
    counts.seconds += seconds;
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
  }

  text(): string {
    const routes = [...this.#routes];
    return [
      "# HELP relay_http_requests_total Requests answered, by route and status.",
      "# TYPE relay_http_requests_total counter",
      ...routes.flatMap(([route, { byStatus }]) =>
        [...byStatus].map(([status, n]) =>
          `relay_http_requests_total{route="${route}",status="${status}"} ${n}`
        )
      ),
      "",
      "# HELP relay_http_request_duration_seconds Time to answer a request, by route.",
      "# TYPE relay_http_request_duration_seconds histogram",
      ...routes.flatMap(([route, counts]) => histogram(route, counts)),
      "",
    ].join("\n");
  }
}

function histogram(route: string, { buckets, seconds }: Counts): string[] {
  const name = "relay_http_request_duration_seconds";
  let n = 0;
  const lines = buckets.map((count, at) =>
    `${name}_bucket{le="${BUCKETS[at] ?? "+Inf"}",route="${route}"} ${n += count}`
  );
  return [
    ...lines,
    `${name}_sum{route="${route}"} ${seconds}`,
    `${name}_count{route="${route}"} ${n}`,
  ];
}
