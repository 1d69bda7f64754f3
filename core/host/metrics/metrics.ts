import { COMMAND_STATUSES } from "../../../kv/records/command.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { REQUEST_SCOPES } from "../../access/access.ts";
import {
  auditLagMs,
  type EventRow,
  STREAM_ENDS,
  type StreamEnd,
  writtenAtMs,
} from "../../events/events.ts";
import { PACK_OF, PACKS } from "../../shield/shield.ts";
import { Counter } from "./counter.ts";
import type { Family } from "./family.ts";
import { figuresOf, type Measured } from "./gauges.ts";
import { Histogram } from "./histogram.ts";
import { RequestMetrics } from "./request_metrics.ts";

const OPEN = ["queued", "running", "pending_approval"];
/** Begins the names of the rules of an organization's policies. */
const POLICY = "policy.";

/** Bounds of buckets in seconds: of work of this process, of waits for others, and of waits for people. */
const WORK = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5];
const RUNS = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600];
const RETRIES = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 120, 600, 1800, 3600, 14400, 86400];
const PEOPLE = [1, 5, 15, 30, 60, 120, 300, 600, 1800, 3600, 14400, 86400];

/** The metrics of this instance, for Prometheus. Counters start at zero with the process. */
export class Metrics {
  readonly #requests = new RequestMetrics();
  readonly #limited = new Counter(
    "relay_rate_limited_requests_total",
    "Requests answered with 429, by limit.",
    ["limit"],
    REQUEST_SCOPES,
  );
  readonly #commands = new Counter(
    "relay_commands_total",
    "Commands of the live space that ended on this process, by outcome.",
    ["outcome"],
    COMMAND_STATUSES.filter((status) => !OPEN.includes(status)),
  );
  readonly #commandDuration = new Histogram(
    "relay_command_duration_seconds",
    "How long commands of the live space ran on their agents.",
    RUNS,
  );
  readonly #denials = new Counter(
    "relay_denials_total",
    "Denied commands of the live space, by the pack of the worst rule; policy is any rule of an " +
      "organization's own.",
    ["family"],
    [...PACKS, "policy", "other"],
  );
  readonly #approvalWait = new Histogram(
    "relay_approval_wait_seconds",
    "How long commands of the live space waited for people's decision.",
    PEOPLE,
  );
  readonly #toolCalls = new Counter(
    "relay_mcp_tool_calls_total",
    "MCP tool calls, by tool and result: ok, pending, or the code of an error.",
    ["tool", "result"],
  );
  readonly #streamEnds = new Counter(
    "relay_event_streams_ended_total",
    "Streams that this process ended, by reason; too_slow is a reader that was cut off.",
    ["reason"],
    Object.keys(STREAM_ENDS),
  );
  readonly #deliveries = new Counter(
    "relay_webhook_attempts_total",
    "Webhook delivery attempts, by result.",
    ["result"],
    ["succeeded", "failed", "timed_out"],
  );
  readonly #deliveryLatency = new Histogram(
    "relay_webhook_delivery_latency_seconds",
    "The time from an event to its successful delivery, with retries and the time held.",
    RETRIES,
  );
  readonly #backups = new Counter(
    "relay_backup_attempts_total",
    "Scheduled backups, by result.",
    ["result"],
    ["succeeded", "failed"],
  );
  readonly #gitSyncs = new Counter(
    "relay_git_syncs_total",
    "Syncs of repositories, by result.",
    ["result"],
    ["succeeded", "failed", "suspended"],
  );
  readonly #commits = new Histogram(
    "relay_store_commit_duration_seconds",
    "How long the commits of the store took.",
    WORK,
  );
  readonly #numberingLag = new Histogram(
    "relay_event_numbering_lag_seconds",
    "The age of the oldest event of each numbered batch.",
    WORK,
  );
  #lagSeconds = 0;
  #parts: Measured | null = null;

  /** Counts an answered request. */
  request(route: string, status: number, ms: number): void {
    this.#requests.add(route, status, ms);
  }

  /** Counts a request that went beyond a limit. */
  limited(limit: string): void {
    this.#limited.add(limit);
  }

  /** Counts a webhook delivery attempt that ended this long after its event. */
  delivery(result: "succeeded" | "failed" | "timed_out", sinceEventMs: number): void {
    this.#deliveries.add(result);
    if (result === "succeeded") this.#deliveryLatency.add(sinceEventMs);
  }

  /** Counts a scheduled backup of the store. */
  backup(result: "succeeded" | "failed"): void {
    this.#backups.add(result);
  }

  /** Counts a sync of a repository. */
  gitSync(result: "succeeded" | "failed" | "suspended"): void {
    this.#gitSyncs.add(result);
  }

  /** Counts a statistic, if it is the outcome of a command or a denial. */
  counted(name: string): void {
    const dot = name.indexOf(".");
    const [what, which] = [name.slice(0, dot), name.slice(dot + 1)];
    if (what === "commands") this.#commands.add(which);
    if (what === "denials") this.#denials.add(familyOf(which));
  }

  /** Counts how long a command ran, if the event is the end of one. */
  written(
    { space }: Tenant,
    { type, details }: Pick<EventRow, "details"> & { type: string },
  ): void {
    const ms = details.duration_ms;
    if (space === "test" || typeof ms !== "number" || !type.startsWith("command_")) return;
    this.#commandDuration.add(ms);
  }

  /** Counts a wait for people's decision. */
  decided({ space }: Tenant, waitedMs: number): void {
    if (space !== "test") this.#approvalWait.add(waitedMs);
  }

  /** Counts a tool call. `result` is `ok`, `pending` or an error code. */
  toolCall(tool: string, result: string): void {
    this.#toolCalls.add(tool, result);
  }

  /** Counts a stream that is ended from this side. */
  streamEnded(reason: StreamEnd): void {
    this.#streamEnds.add(reason);
  }

  /** Records how late the event loop ran a timer. */
  lag(seconds: number): void {
    this.#lagSeconds = seconds;
  }

  /** Measures the store and the log from now on, and reads the figures of these parts at each scrape. */
  watch(parts: Measured): void {
    const { store, log, ports: { clock } } = parts;
    this.#parts = parts;
    store.onCommit((ms) => this.#commits.add(ms));
    log.onSequenced((_, [oldest]) => {
      if (oldest !== undefined) this.#numberingLag.add(clock.now() - writtenAtMs(oldest));
    });
  }

  /** All metrics in Prometheus' text format. */
  async text(): Promise<{ type: string; body: string }> {
    // Only servers that are scraped load the library.
    const { exposition } = await import("./exposition.ts");
    return await exposition(await this.#families());
  }

  async #families(): Promise<Family[]> {
    return [
      ...this.#requests.families,
      this.#limited,
      this.#commands,
      this.#commandDuration,
      this.#denials,
      this.#approvalWait,
      this.#toolCalls,
      this.#streamEnds,
      this.#deliveries,
      this.#deliveryLatency,
      this.#gitSyncs,
      this.#backups,
      this.#commits,
      this.#numberingLag,
      {
        name: "relay_event_loop_lag_seconds",
        help: "The delay of the last timer of the event loop.",
        type: "gauge",
        values: [{ value: this.#lagSeconds }],
      },
      ...this.#parts === null ? [] : await figuresNow(this.#parts),
    ];
  }
}

/** The figures of this moment. */
async function figuresNow(parts: Measured): Promise<Family[]> {
  const { store, log, ports: { clock } } = parts;
  return await figuresOf(parts, await auditLagMs(store, log, clock.now()));
}

/** The pack of a rule. Rules of policies are user-defined and share one family. */
const familyOf = (rule: string): string =>
  PACK_OF.get(rule) ?? (rule.startsWith(POLICY) ? "policy" : "other");
