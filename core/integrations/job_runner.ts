import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { LogFollower } from "../../kv/log/follow.ts";
import { everyQueued } from "../../kv/store/pages.ts";
import { integrationJobs, integrations } from "../../kv/records/integration.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { queueHeads } from "../../kv/store/walk.ts";
import type { App } from "../work/work.ts";
import type { Cancel } from "../ports/ports.ts";
import { isDue } from "../webhooks/retry_policy.ts";
import { fanOut } from "./fan_out.ts";
import { doJob } from "./perform_job.ts";
import { refreshTokens } from "./oauth/tokens.ts";
import { isTold } from "./messages.ts";

/** Jobs and refreshes under way at once; each integration has one at a time, so its messages keep their order. */
const CONCURRENCY = 32;
/** Those of one organization, so that its dead integrations cannot fill the house. */
const ORGANIZATION_MAX = 8;
/** Integrations that are read at once. */
const PAGE = 500;
/** How soon to look again after trouble. */
const RETRY_MS = 1_000;

/**
 * Does what integrations have to do outside: a follower of the log makes jobs of what they are told of, and
 * whatever is due is claimed with a lease: messages, revocations, tokens that end soon.
 */
export class Integrations {
  #follower: LogFollower | null = null;
  /** Tenants that have integrations, so that the log of the others is left in peace. */
  readonly #subscribed = new Set<string>();
  readonly #busy = new Map<string, { readonly org: string; readonly done: Promise<void> }>();
  /** When integrations with work had their last turn, in turns begun. */
  readonly #turns = new Map<string, number>();
  #turn = 0;
  #looking: Promise<void> | null = null;
  #again = false;
  #timer: Cancel | null = null;
  #stopped = false;

  constructor(private readonly appOf: () => App) {}

  private get app(): App {
    return this.appOf();
  }

  /** Takes up what an earlier process left, and listens for what comes. */
  async start(): Promise<void> {
    const { store, log } = this.app;
    const all = everyQueued(store, integrations, "all", { limit: PAGE });
    for await (const { tenant } of all) this.subscribe(tenant);
    this.#follower = new LogFollower(store, log, {
      name: "integrations",
      wants: (type, tenant) =>
        isTold(type) && tenant.space === "live" &&
        (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) => await store.count(integrations, tenant) > 0,
      step: (tx, tenant, events, part) => fanOut(this.app, tx, tenant, events, part),
    }, (error) => this.#complain("integrations could not be told", error));
    this.sweep();
  }

  /** Passes over what a tenant's log holds now. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    await this.#follower?.skip(tx, tenant);
  }

  /** There is an integration, or will be. Only a hint. */
  subscribe(tenant: Tenant): void {
    this.#subscribed.add(tenantKey(tenant));
  }

  /** Looks for whatever nobody here was told of. */
  sweep(): void {
    this.#follower?.wake();
    this.wake();
  }

  /** Begins whatever is due, as far as there is room. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#looking ??= this.#look().finally(() => {
      this.#looking = null;
      if (this.#again) this.wake();
    });
  }

  /** Resolves when nothing is due or under way. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    while (this.#looking !== null || this.#busy.size > 0) {
      await (this.#looking ?? Promise.all([...this.#busy.values()].map(({ done }) => done)));
    }
  }

  /** Starts nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.idle();
  }

  async #look(): Promise<void> {
    let nextMs = Infinity;
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        nextMs = Math.min(await this.#beginRefreshes(), await this.#beginJobs());
      } catch (error) {
        this.#complain("due work of integrations could not be found", error);
        nextMs = this.app.ports.clock.now() + RETRY_MS;
      }
    }
    if (this.#stopped) return;
    const { clock } = this.app.ports;
    this.#timer?.();
    if (nextMs === Infinity) return;
    this.#timer = clock.after(Math.max(1, nextMs - clock.now()), () => this.wake());
  }

  /** Answers when the next ones are due. */
  async #beginRefreshes(): Promise<number> {
    const { store, ports: { clock } } = this.app;
    const all = everyQueued(store, integrations, "refresh", { limit: CONCURRENCY });
    for await (const { tenant, record: { id, refresh_at_ms } } of all) {
      if (refresh_at_ms! > clock.now()) return refresh_at_ms!;
      if (this.#busy.size === CONCURRENCY) break;
      this.#begin(`refresh ${id}`, tenant, async () => {
        await refreshTokens(this.app, tenant, id);
      });
    }
    return Infinity;
  }

  async #beginJobs(): Promise<number> {
    const { store, ports: { clock } } = this.app;
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
      const begun = this.#begin(id, tenant, () => doJob(this.app, tenant, jobId));
      if (begun) this.#turns.set(id, ++this.#turn);
    }
    return nextMs;
  }

  /**
   * Begins a task unless one of that name is under way or there is no room; what follows it is looked for
   * at its end.
   */
  #begin(name: string, { org }: Tenant, task: () => Promise<void>): boolean {
    if (this.#busy.has(name) || this.#busy.size >= CONCURRENCY) return false;
    const own = [...this.#busy.values()].filter((each) => each.org === org);
    if (own.length >= ORGANIZATION_MAX) return false;
    const done = task()
      .then(() => {
        this.#busy.delete(name);
        this.wake();
      })
      .catch((error) => {
        this.#complain("the work of an integration failed", error);
        this.#busy.delete(name); // the lease runs out and another attempt follows
      });
    this.#busy.set(name, { org, done });
    return true;
  }

  #complain(what: string, error: unknown): void {
    const text = error instanceof Error ? error.stack : String(error);
    this.app.ports.log.error(what, { error: text });
  }
}
