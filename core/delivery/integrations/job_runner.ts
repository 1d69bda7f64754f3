import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { LogFollower } from "../../../kv/log/follow.ts";
import { everyQueued, queueHeads } from "../../../kv/store/iterate.ts";
import { integrationJobs, integrations } from "../../../kv/records/integration.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Cancel } from "../../ports/ports.ts";
import { isDue } from "../webhooks/retry_policy.ts";
import { fanOut } from "./fan_out.ts";
import { refreshTokens } from "./oauth/refresh.ts";
import { type JobContext, performJob } from "./perform_job.ts";
import { isTopicEvent } from "./topics.ts";

/** Concurrent jobs and refreshes. Each integration has one at a time, so its messages stay in order. */
const CONCURRENCY = 32;
/** The share of one organization, so that its unreachable integrations cannot occupy all. */
const ORGANIZATION_MAX = 8;
/** Integrations read per page. */
const PAGE = 500;
/** The delay after an error. */
const RETRY_MS = 1_000;

/**
 * Performs the outside work of integrations. A follower of the log stages jobs for the events of their topics;
 * due jobs and token refreshes are claimed with leases, so any instance may perform them.
 */
export class IntegrationRunner {
  #follower: LogFollower | null = null;
  /** Tenants with integrations; the logs of others are not followed. */
  readonly #subscribed = new Set<string>();
  readonly #busy = new Map<string, { readonly org: string; readonly done: Promise<void> }>();
  /** The last turn of each integration with work, so that all take turns. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #search: Promise<void> | null = null;
  #again = false;
  #timer: Cancel | null = null;
  #stopped = false;

  constructor(private readonly context: JobContext) {}

  /** Starts due work that an earlier process left, and follows the log. */
  async start(): Promise<void> {
    const { store, log } = this.context;
    const all = everyQueued(store, integrations, "all", { limit: PAGE });
    for await (const { tenant } of all) this.subscribe(tenant);
    this.#follower = new LogFollower(store, log, {
      name: "integrations",
      wants: (type, tenant) =>
        isTopicEvent(type) && tenant.space === "live" &&
        (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) => await store.count(integrations, tenant) > 0,
      step: (tx, tenant, events, part) => fanOut(this.context, tx, tenant, events, part),
    }, (error) => this.#complain("events could not be staged for integrations", error));
    this.sweep();
  }

  /** Skips the events that a tenant's log has now. */
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
    if (this.#stopped) return;
    this.#again = true;
    this.#search ??= this.#startDue().finally(() => {
      this.#search = null;
      if (this.#again) this.wake();
    });
  }

  /** Resolves when no work is due or running. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    while (this.#search !== null || this.#busy.size > 0) {
      await (this.#search ?? Promise.all([...this.#busy.values()].map(({ done }) => done)));
    }
  }

  /** Starts no more work and waits for what runs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.idle();
  }

  async #startDue(): Promise<void> {
    let nextMs = Infinity;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        nextMs = Math.min(await this.#startRefreshes(), await this.#startJobs());
      } catch (error) {
        this.#complain("due work of integrations could not be read", error);
        nextMs = this.context.ports.clock.now() + RETRY_MS;
      }
    }
    if (this.#stopped) return;
    const { clock } = this.context.ports;
    this.#timer?.();
    if (nextMs === Infinity) return;
    this.#timer = clock.after(Math.max(1, nextMs - clock.now()), () => this.wake());
  }

  /** Starts due refreshes; returns when the next one is due, in ms. */
  async #startRefreshes(): Promise<number> {
    const { store, ports: { clock } } = this.context;
    const all = everyQueued(store, integrations, "refresh", { limit: CONCURRENCY });
    for await (const { tenant, record: { id, refresh_at_ms } } of all) {
      if (refresh_at_ms! > clock.now()) return refresh_at_ms!;
      if (this.#busy.size === CONCURRENCY) break;
      this.#run(`refresh ${id}`, tenant, async () => {
        await refreshTokens(this.context, tenant, id);
      });
    }
    return Infinity;
  }

  /** Starts due jobs, longest-waiting integrations first; returns when the next one is due, in ms. */
  async #startJobs(): Promise<number> {
    const { store, ports: { clock } } = this.context;
    let nextMs = Infinity;
    const due: { tenant: Tenant; id: string; jobId: string }[] = [];
    for await (const { tenant, key } of queueHeads(store, integrationJobs, "due")) {
      const [id, dueMs] = key as [string, number];
      if (!isDue(dueMs, clock.now())) nextMs = Math.min(nextMs, dueMs);
      else due.push({ tenant, id, jobId: key.at(-1) as string });
    }
    const waiting = new Set(due.map(({ id }) => id));
    for (const id of this.#turns.keys()) if (!waiting.has(id)) this.#turns.delete(id);
    const lastTurn = (id: string) => this.#turns.get(id) ?? 0;
    due.sort((a, b) => lastTurn(a.id) - lastTurn(b.id));
    for (const { tenant, id, jobId } of due) {
      const started = this.#run(id, tenant, () => performJob(this.context, tenant, jobId));
      if (started) this.#turns.set(id, ++this.#turn);
    }
    return nextMs;
  }

  /**
   * Runs a task unless one of that name is running or a limit is reached; returns whether it did. Afterwards it
   * looks for more work.
   */
  #run(name: string, { org }: Tenant, task: () => Promise<void>): boolean {
    if (this.#busy.has(name) || this.#busy.size >= CONCURRENCY) return false;
    const own = [...this.#busy.values()].filter((each) => each.org === org);
    if (own.length >= ORGANIZATION_MAX) return false;
    const done = task()
      .then(() => {
        this.#busy.delete(name);
        this.wake();
      })
      .catch((error) => {
        this.#complain("work of an integration failed", error);
        this.#busy.delete(name); // another attempt follows when the lease ends
      });
    this.#busy.set(name, { org, done });
    return true;
  }

  #complain(what: string, error: unknown): void {
    const text = error instanceof Error ? error.stack : String(error);
    this.context.ports.log.error(what, { error: text });
  }
}
