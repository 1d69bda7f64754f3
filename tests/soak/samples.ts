import { type Client, expectStatus } from "../clients/status_client.ts";
import type { CommandRecord } from "./commands.ts";
import { quantile } from "./flat.ts";
import type { Place } from "./place.ts";

/** What was seen of a relay at one moment. */
export interface Sample {
  readonly atS: number;
  /** Which of the relay's processes it was. */
  readonly life: number;
  readonly residentMiB: number;
  /** V8's heap and what it refers to outside, after a collection of garbage. */
  readonly liveMiB: number;
  readonly handles: number;
  readonly threads: number;
  readonly loopLagMs: number;
  readonly numberingLagMs: number;
  readonly auditLagS: number;
  readonly storeMiB: number;
  readonly walMiB: number;
  /** Rows of the organization's audit log. */
  readonly events: number;
  readonly requestsPerS: number;
  readonly execP50Ms: number;
  readonly execP99Ms: number;
  readonly streams: number;
  readonly jobsDue: number;
}

const MIB = 2 ** 20;

/** Looks at the relay from outside, and asks it. */
export class Sampler {
  readonly samples: Sample[] = [];
  #beforeMs = performance.now();
  #numbered = { sum: 0, count: 0 };

  constructor(
    private readonly place: Place,
    private readonly record: CommandRecord,
    private readonly startMs: number,
  ) {}

  /** @throws {UnreachedError} when there is no relay */
  async look(): Promise<void> {
    const { owner, relay, work } = this.place;
    const { lives: life } = relay;
    const metrics = await metricsOf(owner);
    const log = await owner<{ pagination: { total: number } }>("GET", "/api/audit?limit=1");
    const { heapUsed, external } = await relay.memory();
    if (work.isPaused || relay.lives !== life) return; // killed since
    const { pid } = relay;
    const status = Deno.readTextFileSync(`/proc/${pid}/status`);
    const ofStatus = (name: string) =>
      Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)![1]);
    const nowMs = performance.now();
    const { tookMs } = this.record;
    this.samples.push({
      atS: (nowMs - this.startMs) / 1000,
      life,
      residentMiB: ofStatus("VmRSS") / 1024,
      liveMiB: (heapUsed + external) / MIB,
      handles: [...Deno.readDirSync(`/proc/${pid}/fd`)].length,
      threads: ofStatus("Threads"),
      loopLagMs: metrics("relay_event_loop_lag_seconds") * 1000,
      numberingLagMs: this.#numberingLag(metrics),
      auditLagS: metrics("relay_audit_lag_seconds"),
      storeMiB: sizeOf(relay.store) / MIB,
      walMiB: sizeOf(`${relay.store}-wal`) / MIB,
      events: expectStatus(log, 200, "the audit log").pagination.total,
      requestsPerS: work.answered / (nowMs - this.#beforeMs) * 1000,
      execP50Ms: quantile(tookMs, 0.5),
      execP99Ms: quantile(tookMs, 0.99),
      streams: metrics("relay_event_streams_open"),
      jobsDue: metrics("relay_jobs_due"),
    });
    this.#beforeMs = nowMs;
    work.answered = 0;
    this.record.tookMs = [];
  }

  /** The mean since the last look. */
  #numberingLag(metrics: (name: string) => number): number {
    const before = this.#numbered;
    const name = "relay_event_numbering_lag_seconds";
    this.#numbered = { sum: metrics(`${name}_sum`), count: metrics(`${name}_count`) };
    const { sum, count } = this.#numbered;
    // A new process counts from zero.
    const since = count < before.count ? { sum: 0, count: 0 } : before;
    return count === since.count ? 0 : (sum - since.sum) / (count - since.count) * 1000;
  }
}

/** Reads the figures by their names. */
async function metricsOf(client: Client): Promise<(name: string) => number> {
  const text = expectStatus(await client<string>("GET", "/metrics"), 200, "/metrics");
  const found = new Map(
    [...text.matchAll(/^(\w+) (\S+)$/gm)].map(([, name, n]) => [name, Number(n)]),
  );
  return (name) => {
    const value = found.get(name);
    if (value === undefined) throw new Error(`/metrics has no ${name}`);
    return value;
  };
}

function sizeOf(file: string): number {
  try {
    return Deno.statSync(file).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}
