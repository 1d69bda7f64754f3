import { Counter, Gauge, Registry } from "prom-client";
import { COMMAND_STATUSES } from "../../kv/records/command.ts";
import { VERSION } from "../protocol/protocol.ts";
import { RequestMetrics } from "./request_metrics.ts";

/** Figures that are read at each scrape. */
export interface Gauges {
  readonly agentsLinked: () => number;
  readonly commandsUnderWay: () => number;
  readonly deliveriesUnderWay: () => number;
  readonly deliveriesDue: () => Promise<number>;
  readonly deliveryStates: () => Promise<Readonly<Record<string, number>>>;
  readonly keysUnwritten: () => number;
  readonly streamsOpen: () => number;
  readonly approvalsWaiting: () => Promise<number>;
  readonly startedAtMs: number;
}

const OPEN = ["queued", "running", "pending_approval"];

/** The metrics of this instance, for Prometheus. Counters start at zero with the process. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #requests = new RequestMetrics();
  readonly #deliveries: Counter<"result">;
  readonly #commands: Counter<"outcome">;
  readonly #toolCalls: Counter<"tool" | "result">;
  readonly #lag: Gauge;

  constructor() {
    const registers = [this.#registry];
    this.#deliveries = new Counter({
      name: "relay_webhook_attempts_total",
      help: "Webhook delivery attempts, by result.",
      labelNames: ["result"],
      registers,
    });
    this.#commands = new Counter({
      name: "relay_commands_total",
      help: "Commands of the live space that ended on this process, by outcome.",
      labelNames: ["outcome"],
      registers,
    });
    this.#toolCalls = new Counter({
      name: "relay_mcp_tool_calls_total",
      help: "MCP tool calls, by tool and result: ok, pending, or the code of an error.",
      labelNames: ["tool", "result"],
      registers,
    });
    this.#lag = new Gauge({
      name: "relay_event_loop_lag_seconds",
      help: "The delay of the last timer of the event loop.",
      registers,
    });
    // Initialize the outcomes to zero, so that the first one shows as an increase.
    for (const result of ["succeeded", "failed", "timed_out"]) this.#deliveries.inc({ result }, 0);
    for (const outcome of COMMAND_STATUSES) {
      if (!OPEN.includes(outcome)) this.#commands.inc({ outcome }, 0);
    }
    new Gauge({
      name: "relay_build_info",
      help: "Always 1; labelled with the running version.",
      labelNames: ["version"],
      registers,
    }).set({ version: VERSION }, 1);
  }

  /** Counts an answered request. */
  request(route: string, status: number, ms: number): void {
    this.#requests.add(route, status, ms);
  }

  /** Counts a webhook delivery attempt. */
  delivery(result: "succeeded" | "failed" | "timed_out"): void {
    this.#deliveries.inc({ result });
  }

  /** Counts a statistic, if it is the outcome of a command. */
  counted(name: string): void {
    const [what, outcome] = name.split(".", 2);
    if (what === "commands") this.#commands.inc({ outcome: outcome! });
  }

  /** Counts a tool call. `result` is `ok`, `pending` or an error code. */
  toolCall(tool: string, result: string): void {
    this.#toolCalls.inc({ tool, result });
  }

  /** Records how late the event loop ran a timer. */
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
    gauge(
      "process_start_time_seconds",
      "The start time of this process, in Unix seconds.",
      () => gauges.startedAtMs / 1000,
    );
    gauge("relay_agents_online", "Agents linked to this process.", gauges.agentsLinked);
    gauge(
      "relay_commands_under_way",
      "Commands running through this process.",
      gauges.commandsUnderWay,
    );
    gauge(
      "relay_approvals_waiting",
      "Pending approval requests of the live space.",
      gauges.approvalsWaiting,
    );
    gauge(
      "relay_event_streams_open",
      "Event streams open on this process.",
      gauges.streamsOpen,
    );
    gauge(
      "relay_deliveries_under_way",
      "Webhook delivery attempts in progress.",
      gauges.deliveriesUnderWay,
    );
    gauge(
      "relay_usage_unwritten_keys",
      "API keys whose usage counts are not yet stored.",
      gauges.keysUnwritten,
    );
    new Gauge({
      name: "relay_webhook_deliveries",
      help: "Webhook deliveries by state; accepted is the sum of all others.",
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

  /** All metrics in Prometheus' text format. */
  async text(): Promise<{ type: string; body: string }> {
    return {
      type: this.#registry.contentType,
      body: `${await this.#registry.metrics()}\n${this.#requests.text()}`,
    };
  }
}
