import { COMMAND_STATUSES } from "../../kv/records/command.ts";
import { VERSION } from "../protocol/protocol.ts";
import { LabelledCounts } from "./labelled_counts.ts";
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
  /** See `lastBackupOf`. */
  readonly lastBackup: () => string | null | undefined;
}

const OPEN = ["queued", "running", "pending_approval"];

/** The metrics of this instance, for Prometheus. Counters start at zero with the process. */
export class Metrics {
  readonly #requests = new RequestMetrics();
  readonly #deliveries = new LabelledCounts(["result"]);
  readonly #commands = new LabelledCounts(["outcome"]);
  readonly #backups = new LabelledCounts(["result"]);
  readonly #toolCalls = new LabelledCounts(["tool", "result"]);
  #lagSeconds = 0;
  #gauges: Gauges | null = null;

  constructor() {
    // Initialize the outcomes to zero, so that the first one shows as an increase.
    for (const result of ["succeeded", "failed", "timed_out"]) this.#deliveries.add([result], 0);
    for (const result of ["succeeded", "failed"]) this.#backups.add([result], 0);
    for (const outcome of COMMAND_STATUSES) {
      if (!OPEN.includes(outcome)) this.#commands.add([outcome], 0);
    }
  }

  /** Counts an answered request. */
  request(route: string, status: number, ms: number): void {
    this.#requests.add(route, status, ms);
  }

  /** Counts a webhook delivery attempt. */
  delivery(result: "succeeded" | "failed" | "timed_out"): void {
    this.#deliveries.add([result]);
  }

  /** Counts a scheduled backup of the store. */
  backup(result: "succeeded" | "failed"): void {
    this.#backups.add([result]);
  }

  /** Counts a statistic, if it is the outcome of a command. */
  counted(name: string): void {
    const [what, outcome] = name.split(".", 2);
    if (what === "commands") this.#commands.add([outcome!]);
  }

  /** Counts a tool call. `result` is `ok`, `pending` or an error code. */
  toolCall(tool: string, result: string): void {
    this.#toolCalls.add([tool, result]);
  }

  /** Records how late the event loop ran a timer. */
  lag(seconds: number): void {
    this.#lagSeconds = seconds;
  }

  /** Sets the figures that are read at each scrape. */
  watch(gauges: Gauges): void {
    this.#gauges = gauges;
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<{ type: string; body: string }> {
    // Only servers that are scraped load the library.
    const { Counter, Gauge, Registry } = await import("prom-client");
    const registry = new Registry();
    const registers = [registry];
    const counter = (name: string, help: string, counts: LabelledCounts) => {
      const counter = new Counter({ name, help, labelNames: counts.labels, registers });
      for (const { labels, count } of counts) counter.inc(labels, count);
    };
    const gauge = (name: string, help: string, value: number) =>
      new Gauge({ name, help, registers }).set(value);

    counter(
      "relay_webhook_attempts_total",
      "Webhook delivery attempts, by result.",
      this.#deliveries,
    );
    counter("relay_backup_attempts_total", "Scheduled backups, by result.", this.#backups);
    counter(
      "relay_commands_total",
      "Commands of the live space that ended on this process, by outcome.",
      this.#commands,
    );
    counter(
      "relay_mcp_tool_calls_total",
      "MCP tool calls, by tool and result: ok, pending, or the code of an error.",
      this.#toolCalls,
    );
    gauge(
      "relay_event_loop_lag_seconds",
      "The delay of the last timer of the event loop.",
      this.#lagSeconds,
    );
    new Gauge({
      name: "relay_build_info",
      help: "Always 1; labelled with the running version.",
      labelNames: ["version"],
      registers,
    }).set({ version: VERSION }, 1);
    if (this.#gauges !== null) {
      for (const [name, help, value] of await figures(this.#gauges)) gauge(name, help, value);
      const states = new Gauge({
        name: "relay_webhook_deliveries",
        help: "Webhook deliveries by state; accepted is the sum of all others.",
        labelNames: ["state"],
        registers,
      });
      for (const [state, n] of Object.entries(await this.#gauges.deliveryStates())) {
        states.set({ state }, n);
      }
    }
    return {
      type: registry.contentType,
      body: `${await registry.metrics()}\n${this.#requests.text()}`,
    };
  }
}

/** The figures without labels: name, help and value. */
const figures = async (
  gauges: Gauges,
): Promise<readonly (readonly [name: string, help: string, value: number])[]> => [
  [
    "process_start_time_seconds",
    "The start time of this process, in Unix seconds.",
    gauges.startedAtMs / 1000,
  ],
  ["relay_agents_online", "Agents linked to this process.", gauges.agentsLinked()],
  [
    "relay_commands_under_way",
    "Commands running through this process.",
    gauges.commandsUnderWay(),
  ],
  [
    "relay_approvals_waiting",
    "Pending approval requests of the live space.",
    await gauges.approvalsWaiting(),
  ],
  ["relay_event_streams_open", "Event streams open on this process.", gauges.streamsOpen()],
  [
    "relay_deliveries_under_way",
    "Webhook delivery attempts in progress.",
    gauges.deliveriesUnderWay(),
  ],
  [
    "relay_usage_unwritten_keys",
    "API keys whose usage counts are not yet stored.",
    gauges.keysUnwritten(),
  ],
  [
    "relay_jobs_due",
    "Webhook deliveries that are due, up to 1000.",
    await gauges.deliveriesDue(),
  ],
  ...backupFigure(gauges.lastBackup()),
];

const backupFigure = (at: string | null | undefined) =>
  at === undefined ? [] : [[
    "relay_last_backup_timestamp_seconds",
    "When the newest complete backup was taken, in Unix seconds; 0 without one.",
    at === null ? 0 : Date.parse(at) / 1000,
  ]] as const;
