import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { LogFollower } from "../../../kv/log/follow.ts";
import { everyQueued, queueHeads } from "../../../kv/store/iterate.ts";
import { integrationJobs, integrations } from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { JobRunner } from "../../ports/ports.ts";
import { isDue } from "../jobs/retry_policy.ts";
import { fanOut } from "./fan_out.ts";
import { reclaimRefresh, refreshTokens } from "./oauth/refresh.ts";
import { type JobContext, performJob } from "./perform_job.ts";
import { isTopicEvent } from "./topics.ts";

/**
 * Concurrent jobs and refreshes. One organization gets a share, so that its unreachable integrations cannot occupy
 * all slots. Each integration has one job at a time, so its messages stay in order.
 */
const SLOTS = { all: 32, ofOne: 8 };
/** Integrations read per page. */
const PAGE = 500;

/**
 * Performs the outside work of integrations. A follower of the log stages jobs for the events of their topics;
 * due jobs and token refreshes are claimed with leases, so any instance may perform them.
 */
export class IntegrationRunner {
  #follower: LogFollower | null = null;
  /** Tenants with integrations; the logs of others are not followed. */
  readonly #subscribed = new Set<string>();
  /** The last turn of each integration with work, so that all take turns. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  readonly #jobs: JobRunner;

  constructor(private readonly context: JobContext) {
    this.#jobs = new JobRunner({
      ports: context.ports,
      failure: "work of an integration failed",
      slots: SLOTS,
      search: async () => Math.min(await this.#startRefreshes(), await this.#startJobs()),
    });
  }

  /** Starts due work that an earlier process left, and follows the log. */
  async start(): Promise<void> {
    const { store, log, ports } = this.context;
    const all = everyQueued(store, integrations, "all", { limit: PAGE });
    for await (const { tenant, record: { id, refresh_attempt } } of all) {
      this.subscribe(tenant);
      if (refresh_attempt > 0) await reclaimRefresh(this.context, tenant, id);
    }
    this.#follower = new LogFollower(store, log, {
      name: "integrations",
      wants: (type, tenant) =>
        isTopicEvent(type) && tenant.space === "live" &&
        (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) => await store.count(integrations, tenant) > 0,
      step: (...step) => fanOut(this.context, ...step),
    }, (error) => {
      ports.log.error("events could not be staged for integrations", { error: String(error) });
    });
    this.sweep();
  }

  /** Skips the events that a tenant's log holds now. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    await this.#follower?.skip(tx, tenant);
  }

  /** Notes that a tenant has an integration, or may soon. A hint for this process. */
  subscribe(tenant: Tenant): void {
    this.#subscribed.add(tenantKey(tenant));
  }

  /** Looks for work of which this process got no signal. */
  sweep(): void {
    this.#follower?.wake();
    this.wake();
  }

  /** Starts due work within the limits. */
  wake(): void {
    this.#jobs.wake();
  }

  /** Resolves when no work is due or running. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    await this.#jobs.idle();
  }

  /** Starts no more work and waits for what runs. */
  async stop(): Promise<void> {
    await this.#jobs.stop();
    await this.idle();
  }

  /** Starts due refreshes; returns when the next one is due, in ms. */
  async #startRefreshes(): Promise<number> {
    const { store, ports: { clock } } = this.context;
    const all = everyQueued(store, integrations, "refresh", { limit: SLOTS.all });
    for await (const { tenant, record: { id, refresh_at_ms } } of all) {
      if (refresh_at_ms! > clock.now()) return refresh_at_ms!;
      if (this.#jobs.isFull) break;
      this.#jobs.start(`refresh ${id}`, tenant, () => refreshTokens(this.context, tenant, id));
    }
    return Infinity;
  }

  /** Starts due jobs, longest-waiting integrations first; returns when the next one is due, in ms. */
  async #startJobs(): Promise<number> {
    const { store, ports: { clock } } = this.context;
    let nextMs = Infinity;
    const due: { tenant: Tenant; id: string; jobId: string }[] = [];
    for await (const { tenant, key } of queueHeads(store, integrationJobs, "due")) {
      const [id, dueMs, seq] = key as [string, number, unknown];
      // The place of a message that was not attempted may come from a clock that is ahead.
      if (typeof seq !== "number" && !isDue(dueMs, clock.now())) nextMs = Math.min(nextMs, dueMs);
      else due.push({ tenant, id, jobId: key.at(-1) as string });
    }
    const waiting = new Set(due.map(({ id }) => id));
    for (const id of this.#turns.keys()) if (!waiting.has(id)) this.#turns.delete(id);
    const lastTurn = (id: string) => this.#turns.get(id) ?? 0;
    due.sort((a, b) => lastTurn(a.id) - lastTurn(b.id));
    for (const { tenant, id, jobId } of due) {
      if (this.#jobs.isRunning(id) || !this.#jobs.hasSlot(tenant.org)) continue;
      const leasedMs = (await store.get(integrationJobs, tenant, jobId))?.leased_until_ms ?? 0;
      if (!isDue(leasedMs, clock.now())) {
        nextMs = Math.min(nextMs, leasedMs);
        continue;
      }
      const started = this.#jobs.start(id, tenant, () => performJob(this.context, tenant, jobId));
      if (started) this.#turns.set(id, ++this.#turn);
    }
    return nextMs;
  }
}
