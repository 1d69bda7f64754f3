import { Counter, Gauge, Histogram, Registry } from "prom-client";

const SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60];

/** Figures that are read when somebody asks. */
export interface Gauges {
  readonly agentsLinked: () => number;
  readonly commandsUnderWay: () => number;
  readonly deliveriesUnderWay: () => number;
  readonly deliveriesDue: () => Promise<number>;
  readonly deliveryStates: () => Promise<Readonly<Record<string, number>>>;
  readonly keysUnwritten: () => number;
}

/** Counts what happens, for Prometheus. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests: Counter<"route" | "status">;
  readonly #latency: Histogram<"route">;
  readonly #deliveries: Counter<"result">;
  readonly #lag: Gauge;
  /** prom-client hashes labels at each call; what a request adds to is found here instead. */
  readonly #children = new Map<string, { inc(): void; observe(seconds: number): void }>();

  constructor() {
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: "relay_http_requests_total",
      help: "Requests answered, by route and status.",
      labelNames: ["route", "status"],
      registers,
    });
    this.#latency = new Histogram({
      name: "relay_http_request_duration_seconds",
      help: "Time to answer a request, by route.",
      labelNames: ["route"],
      buckets: SECONDS,
      registers,
    });
    this.#deliveries = new Counter({
      name: "relay_webhook_attempts_total",
      help: "Webhook delivery attempts, by result.",
      labelNames: ["result"],
      registers,
    });
    this.#lag = new Gauge({
      name: "relay_event_loop_lag_seconds",
      help: "How late the last timer of the event loop ran.",
      registers,
    });
  }

  /** A request was answered. */
  request(route: string, status: number, ms: number): void {
    const key = `${route} ${status}`;
    let child = this.#children.get(key);
    if (child === undefined) {
      const requests = this.#requests.labels(route, `${status}`);
      const latency = this.#latency.labels(route);
      child = { inc: () => requests.inc(), observe: (seconds) => latency.observe(seconds) };
      this.#children.set(key, child);
    }
    child.inc();
    child.observe(ms / 1000);
  }

  /** A webhook delivery attempt has ended. */
  delivery(result: "succeeded" | "failed" | "timed_out"): void {
    this.#deliveries.inc({ result });
  }

  /** The event loop came this late to a timer. */
  lag(seconds: number): void {
    this.#lag.set(seconds);
  }

  /** Registers figures that are read at each scrape. */
  watch(gauges: Gauges): void {
    const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
      new Gauge({
        name,
        help,
        registers: [this.#registry],
        async collect() {
          this.set(await read());
        },
      });
    gauge("relay_agents_online", "Agents linked to this process.", gauges.agentsLinked);
    gauge(
      "relay_commands_under_way",
      "Commands running through this process.",
      gauges.commandsUnderWay,
    );
    gauge("relay_deliveries_under_way", "Webhook attempts under way.", gauges.deliveriesUnderWay);
    gauge(
      "relay_usage_unwritten_keys",
      "API keys with usage counts that are in memory only.",
      gauges.keysUnwritten,
    );
    new Gauge({
      name: "relay_webhook_deliveries",
      help: "Webhook deliveries by state: accepted is the sum of all others.",
      labelNames: ["state"],
      registers: [this.#registry],
      async collect() {
        for (const [state, n] of Object.entries(await gauges.deliveryStates())) {
          this.set({ state }, n);
        }
      },
    });
    gauge("relay_jobs_due", "Webhook deliveries that are due, up to 1000.", gauges.deliveriesDue);
  }

  /** Everything, in Prometheus' text format. */
  async text(): Promise<{ type: string; body: string }> {
    return { type: this.#registry.contentType, body: await this.#registry.metrics() };
  }
}
