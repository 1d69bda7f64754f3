import type { Family } from "./family.ts";
import { Buckets } from "./histogram.ts";

/** Upper bounds of the buckets, in seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];
const DURATION = "relay_http_request_duration_seconds";

/** The totals of one route. */
interface Counts {
  readonly byStatus: Map<number, number>;
  readonly durations: Buckets;
}

/** Counts requests and their durations by route. It runs for every request, refused ones included. */
export class RequestMetrics {
  readonly #routes = new Map<string, Counts>();

  /** Counts an answered request. */
  add(route: string, status: number, ms: number): void {
    let counts = this.#routes.get(route);
    if (counts === undefined) {
      this.#routes.set(route, counts = { byStatus: new Map(), durations: new Buckets(BUCKETS) });
    }
    counts.durations.add(ms / 1000);
    counts.byStatus.set(status, (counts.byStatus.get(status) ?? 0) + 1);
  }

  get families(): Family[] {
    const routes = [...this.#routes];
    return [{
      name: "relay_http_requests_total",
      help: "Requests answered, by route and status.",
      type: "counter",
      values: routes.flatMap(([route, { byStatus }]) =>
        [...byStatus].map(([status, value]) => ({ labels: { route, status: `${status}` }, value }))
      ),
    }, {
      name: DURATION,
      help: "Time to answer a request, by route.",
      type: "histogram",
      values: routes.flatMap(([route, { durations }]) => durations.samples(DURATION, { route })),
    }];
  }
}
