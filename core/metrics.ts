import { Counter, Gauge, Registry } from "prom-client";
import { RequestMetrics } from "./request_metrics.ts";

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
  readonly #requests = new RequestMetrics();
  readonly #deliveries: Counter<"result">;
  readonly #lag: Gauge;

  constructor() {
    const registers = [this.#registry];
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
    this.#requests.add(route, status, ms);
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
    return {
      type: this.#registry.contentType,
      body: `${await this.#registry.metrics()}\n${this.#requests.text()}`,
    };
  }
}
