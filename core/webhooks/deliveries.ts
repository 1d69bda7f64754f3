import { type Tenant, tenantKey } from "../../kv/collection.ts";
import { LogFollower } from "../../kv/follow.ts";
import {
  attemptId,
  deliveries,
  deliveryAttempts,
  type DeliveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import type { Found, Page } from "../../kv/store.ts";
import type { Tx } from "../../kv/tx.ts";
import { queueHeads } from "../../kv/walk.ts";
import type { App } from "../app.ts";
import type { Cancel } from "../ports.ts";
import { attemptDelivery, attemptOf, type Claim, LEASE_MS } from "./attempt.ts";
import { isWebhookEvent } from "./event_types.ts";
import { batchOf, createDelivery, fanOut, type Sendable } from "./fan_out.ts";
import { type Lane, Lanes } from "./lanes.ts";
import { ATTEMPTS_KEPT } from "./ledger.ts";
import { rateOf } from "./rate.ts";
import { Recoveries } from "./recoveries.ts";

/** What nobody here was told of is found this soon all the same. */
const SWEEP_MS = 15_000;
/** How soon to look again after trouble. */
const RETRY_MS = 1_000;

/**
 * Sends events to webhooks. A follower of the log makes one delivery for each matching webhook, exactly
 * once; a delivery is its own job: a row with a due time that is claimed with a lease, its attempt
 * counted at the claim, so a crash can repeat an attempt but never lose a delivery.
 */
export class Deliveries {
  readonly recoveries: Recoveries;
  readonly #lanes = new Lanes();
  #follower: LogFollower | null = null;
  /** Tenants that have webhooks, so that the log of the others is left in peace. */
  readonly #subscribed = new Set<string>();
  /** Claims and attempts that have not ended. */
  #tasks = 0;
  #sweeping: Promise<void> | null = null;
  #sweptAtMs = 0;
  #timer: Cancel | null = null;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(private readonly appOf: () => App) {
    this.recoveries = new Recoveries(appOf);
  }

  private get app(): App {
    return this.appOf();
  }

  /** Passes over what a tenant's log holds now. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    await this.#follower?.skip(tx, tenant);
  }

  /** There is a webhook, or will be: the log may have something for it. Only a hint. */
  subscribe(tenant: Tenant): void {
    this.#subscribed.add(tenantKey(tenant));
  }

  /** Takes up what an earlier process left, and listens for what comes. */
  async start(): Promise<void> {
    await this.#loadSubscribed();
    const { store, log, ports } = this.app;
    const complain = (error: unknown) =>
      ports.log.error("webhook fan-out failed", { error: String(error) });
    this.#follower = new LogFollower(store, log, {
      name: "webhooks",
      wants: (type, tenant) =>
        isWebhookEvent(type) && (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) => await store.count(webhooks, tenant) > 0,
      step: (tx, tenant, events, part) => fanOut(this.app, tx, tenant, events, part),
    }, complain);
    this.sweep();
  }

  /** The webhook has a delivery that is due then. Called after the commit that says so. */
  announce(tenant: Tenant, webhookId: string, dueMs: number): void {
    this.#lanes.announce(tenant, webhookId, dueMs, this.app.ports.clock.now());
    this.wake();
  }

  /** Begins whatever is due, as far as there is room. */
  wake(): void {
    if (this.#stopped) return;
    const { clock } = this.app.ports;
    const nowMs = clock.now();
    for (;;) {
      const turn = this.#lanes.next(nowMs, batchOf(this.app));
      if (turn === null) break;
      this.#track(this.#serve(turn.lane, turn.room));
    }
    const sweepMs = this.#sweptAtMs + SWEEP_MS;
    const waitMs = Math.max(1, Math.min(this.#lanes.nextMs, sweepMs) - nowMs);
    this.#timer?.();
    this.#timer = clock.after(waitMs, () => clock.now() >= sweepMs ? this.sweep() : this.wake());
  }

  /** Looks for whatever nobody here was told of: what an instance that is gone has left, in the log or due. */
  sweep(): void {
    if (this.#stopped) return;
    this.#follower?.wake();
    this.recoveries.wake();
    this.#sweptAtMs = this.app.ports.clock.now();
    this.#sweeping ??= this.#findDue()
      .catch((error) => {
        this.app.ports.log.error("due deliveries could not be found", { error: String(error) });
      })
      .finally(() => {
        this.#sweeping = null;
        this.wake();
      });
  }

  /** Deliveries that are under way now. */
  get underWay(): number {
    return this.#lanes.running;
  }

  /** Resolves when nothing is due or under way. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    await this.recoveries.idle();
    while (this.#sweeping !== null || this.#tasks > 0) {
      await (this.#sweeping ?? new Promise<void>((resolve) => this.#idle.push(resolve)));
    }
  }

  /** Starts nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    this.recoveries.stop();
    await this.idle();
  }

  /** Puts a test on record; it is sent right after the commit, whatever the webhook's state. */
  create(tx: Tx, tenant: Tenant, webhookId: string, event: Sendable): DeliveryRecord {
    return createDelivery(this.app, tx, tenant, webhookId, event);
  }

  async #loadSubscribed(): Promise<void> {
    let cursor: string | null = null;
    do {
      const page: Page<Found<WebhookRecord>> = await this.app.store.queued(webhooks, "all", {
        limit: 500,
        cursor,
      });
      for (const { tenant } of page.items) this.subscribe(tenant);
      cursor = page.cursor;
    } while (cursor !== null);
  }

  async #findDue(): Promise<void> {
    const { store, ports: { clock } } = this.app;
    for await (const { tenant, key } of queueHeads(store, deliveries, "due")) {
      const [webhookId, dueMs] = key as [string, number];
      this.#lanes.announce(tenant, webhookId, dueMs, clock.now());
    }
  }

  /** Takes what is due for one webhook and begins it. */
  async #serve(lane: Lane, room: number): Promise<void> {
    const { ports: { clock, log } } = this.app;
    try {
      const { claims, nextMs } = await this.#claim(lane, room);
      this.#lanes.begun(lane, room, claims.length, nextMs, clock.now());
      for (const claim of claims) this.#track(this.#run(lane, claim));
    } catch (error) {
      log.error("due deliveries could not be claimed", { error: String(error) });
      const againMs = clock.now() + RETRY_MS;
      lane.notBeforeMs = Math.max(lane.notBeforeMs, againMs);
      this.#lanes.begun(lane, room, 0, againMs, clock.now());
    }
    this.wake();
  }

  /** Takes due deliveries: the lease and the counted attempt are durable before anything is sent. */
  async #claim(lane: Lane, room: number): Promise<{ claims: Claim[]; nextMs: number }> {
    const { store, ports } = this.app;
    const { tenant, webhookId } = lane;
    const now = ports.clock.now();
    const { items } = await store.queued(deliveries, "due", {
      prefix: [webhookId],
      limit: room + 1,
    });
    const due = items.slice(0, room).filter(({ record }) => record.due_at_ms! <= now);
    const admitted = due.length === 0 ? 0 : await rateOf(this.app, lane, due.length);
    const some = due.slice(0, admitted);
    const nextMs = items[some.length]?.record.due_at_ms ?? Infinity;
    if (some.length === 0) return { claims: [], nextMs };
    const claims = await store.transact(async (tx) => {
      const rows = await Promise.all(
        some.map(({ record }) => tx.get(deliveries, tenant, record.id)),
      );
      return rows.flatMap((before) =>
        before === null || before.due_at_ms === null || before.due_at_ms > now
          ? []
          : [{ tenant, before, delivery: claim(tx, tenant, before, now) }]
      );
    });
    return { claims, nextMs };
  }

  async #run(lane: Lane, claim: Claim): Promise<void> {
    const { ports: { clock, log } } = this.app;
    let answered: boolean | null = null;
    try {
      answered = await attemptDelivery(this.app, claim);
    } catch (error) {
      // The lease runs out and another attempt follows.
      log.error("a delivery attempt failed", { error: String(error) });
      const { tenant, webhookId } = lane;
      this.#lanes.announce(tenant, webhookId, claim.delivery.due_at_ms!, clock.now());
    }
    this.#lanes.ended(lane, answered, clock.now());
    this.wake();
  }

  #track(task: Promise<void>): void {
    this.#tasks++;
    task.finally(() => {
      this.#tasks--;
      if (this.#tasks > 0) return;
      for (const resolve of this.#idle.splice(0)) resolve();
    });
  }
}

/** Counts the next attempt and leases it; what the one before came to moves to its own row. */
function claim(tx: Tx, tenant: Tenant, before: DeliveryRecord, now: number): DeliveryRecord {
  const { id, attempt } = before;
  const last = attemptOf(before);
  if (last !== null) tx.insert(deliveryAttempts, tenant, last);
  if (attempt > ATTEMPTS_KEPT) {
    tx.drop(deliveryAttempts, tenant, attemptId(id, attempt - ATTEMPTS_KEPT));
  }
  return tx.put(deliveries, tenant, {
    ...before,
    status: "sending",
    attempt: attempt + 1,
    sent_at_ms: now,
    due_at_ms: now + LEASE_MS,
  });
}
