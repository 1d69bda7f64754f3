import { type Tenant, tenantKey } from "../../kv/collection.ts";
import { LogFollower, type Step } from "../../kv/follow.ts";
import type { Sequenced } from "../../kv/log.ts";
import {
  deliveries,
  type DeliveryRecord,
  type WebhookRecord,
  webhooks,
} from "../../kv/records/webhook.ts";
import type { Found, Page } from "../../kv/store.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App } from "../app.ts";
import type { EventRow } from "../events.ts";
import type { Cancel } from "../ports.ts";
import { attemptDelivery, type Claim, LEASE_MS } from "./attempt.ts";
import { isWebhookEvent } from "./event_types.ts";
import { mayReceive } from "./rules.ts";
import { WEBHOOKS_MAX } from "./webhooks.ts";

/** Attempts under way at once, over all webhooks. */
const CONCURRENCY = 256;
/** Deliveries that one commit claims or creates: at most 40 KB each, and an atomic takes 819 KB. */
const BATCH_MAX = 16;
const BATCH_MAX_SHARED = 8; // a self-hosted denokv takes 10 checks
/** A job that nobody woke is found this soon all the same. */
const SWEEP_MS = 15_000;
/** How soon to look again after trouble, or when there was no room. */
const RETRY_MS = 1_000;
/** Webhooks are counted before they are made, so those of one instant may pass their limit together. */
const WEBHOOKS_READ_MAX = 2 * WEBHOOKS_MAX;
const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Sends events to webhooks. A follower of the log makes one delivery for each matching webhook, exactly
 * once; a delivery is its own job: a row with a due time that is claimed with a lease, its attempt
 * counted at the claim, so a crash can repeat an attempt but never lose a delivery.
 */
export class Deliveries {
  #follower: LogFollower | null = null;
  /** Tenants that have webhooks, so that the log of the others is left in peace. */
  readonly #subscribed = new Set<string>();
  #running = 0;
  #pumping: Promise<void> | null = null;
  #again = false;
  #timer: Cancel | null = null;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(private readonly appOf: () => App) {}

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
      step: (tx, tenant, events, part) => this.#fanOut(tx, tenant, events, part),
    }, complain);
    this.sweep();
  }

  /** Runs whatever is due. Called after commits, by the engine's alarm, and by the sweep. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#pumping ??= this.#pump();
  }

  /** Looks for whatever an instance that is gone has left, in the log or due. */
  sweep(): void {
    if (this.#stopped) return;
    this.#follower?.wake();
    this.wake();
  }

  /** Deliveries that are under way now. */
  get underWay(): number {
    return this.#running;
  }

  /** Resolves when nothing is due or under way. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    while (this.#pumping !== null || this.#running > 0) {
      await (this.#pumping ?? new Promise<void>((resolve) => this.#idle.push(resolve)));
    }
  }

  /** Starts nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.idle();
  }

  /** Puts a delivery on record; it is sent right after the commit. */
  create(
    tx: Tx,
    tenant: Tenant,
    webhookId: string,
    event: { id: string; type: string; at: string; agentId?: string | undefined; payload: unknown },
  ): DeliveryRecord {
    const { clock, entropy } = this.app.ports;
    const id = entropy.id("dlv");
    const body = JSON.stringify({
      event_id: event.id,
      event_type: event.type,
      timestamp: event.at,
      organization_id: tenant.org,
      ...(event.agentId !== undefined && { agent_id: event.agentId }),
      delivery_id: id,
      payload: event.payload,
    });
    const now = clock.now();
    tx.afterCommit(() => this.wake());
    return tx.insert(deliveries, tenant, {
      id,
      webhook_id: webhookId,
      event_id: event.id,
      event_type: event.type,
      body,
      event_at: event.at,
      status: "pending",
      held: false,
      attempt: 0,
      http_status: null,
      response_time_ms: null,
      response_body: "",
      error: null,
      sent_at_ms: null,
      created_at_ms: now,
      due_at_ms: now,
      expires_at_ms: now + this.app.config().retention_days.deliveries * DAY_MS,
    });
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

  /** One delivery for each webhook that wants an event; long lists take several commits. */
  async #fanOut(
    tx: Tx,
    tenant: Tenant,
    events: readonly Sequenced[],
    part: string,
  ): Promise<Step> {
    const { items } = await tx.list(webhooks, tenant, { limit: WEBHOOKS_READ_MAX });
    let made = 0, done = 0, lastId = part;
    for (const { type, json } of events) {
      if (isWebhookEvent(type)) {
        const row = JSON.parse(json) as EventRow;
        const atMs = Date.parse(row.timestamp);
        for (const webhook of items.filter(({ id }) => id > lastId)) {
          if (!webhook.active || !webhook.events.includes(type)) continue;
          if (atMs < webhook.created_at_ms) continue;
          if (!await mayReceive(this.app, tenant, webhook, type)) continue;
          if (made === BATCH_MAX) return { done, part: lastId };
          this.create(tx, tenant, webhook.id, {
            id: row.event_id,
            type,
            at: row.timestamp,
            agentId: row.agent_id,
            payload: row.details,
          });
          made++;
          lastId = webhook.id;
        }
      }
      lastId = "";
      done++;
    }
    return { done, part: "" };
  }

  get #batch(): number {
    return this.app.store.sole ? BATCH_MAX : BATCH_MAX_SHARED;
  }

  async #pump(): Promise<void> {
    // It must not end before its promise is kept, or nobody could start the next one.
    await Promise.resolve();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      const waitMs = await this.#startDue().catch((error) => {
        this.app.ports.log.error("due deliveries could not be claimed", { error: String(error) });
        return RETRY_MS;
      });
      this.#timer?.();
      if (!this.#stopped) this.#timer = this.app.ports.clock.after(waitMs, () => this.wake());
    }
    this.#pumping = null;
  }

  /** Begins what is due, as far as there is room; answers in how many ms to look again at the latest. */
  async #startDue(): Promise<number> {
    while (this.#running < CONCURRENCY && !this.#stopped) {
      const claims = await this.#claim(Math.min(this.#batch, CONCURRENCY - this.#running));
      if (claims.length === 0) return await this.#untilDue();
      for (const claim of claims) this.#run(claim);
    }
    // What is due waits for room, and the end of an attempt tells of it.
    return RETRY_MS;
  }

  async #untilDue(): Promise<number> {
    const { store, ports } = this.app;
    const { items: [next] } = await store.queued(deliveries, "due", { limit: 1 });
    const dueMs = next?.record.due_at_ms ?? Infinity;
    return Math.min(SWEEP_MS, Math.max(1, dueMs - ports.clock.now()));
  }

  /** Takes due deliveries: the lease and the counted attempt are durable before anything is sent. */
  async #claim(limit: number): Promise<Claim[]> {
    const { store, ports } = this.app;
    const now = ports.clock.now();
    const due = await store.queued(deliveries, "due", { limit, before: [now + 1] });
    if (due.items.length === 0) return [];
    return await store.transact(async (tx) => {
      const claims: Claim[] = [];
      for (const { tenant, record: { id } } of due.items) {
        const before = await tx.get(deliveries, tenant, id);
        if (before === null || before.due_at_ms === null || before.due_at_ms > now) continue;
        const delivery = tx.put(deliveries, tenant, {
          ...before,
          status: "sending",
          attempt: before.attempt + 1,
          sent_at_ms: now,
          due_at_ms: now + LEASE_MS,
        });
        claims.push({ tenant, before, delivery });
      }
      return claims;
    });
  }

  #run(claim: Claim): void {
    this.#running++;
    attemptDelivery(this.app, claim)
      .catch((error) => {
        // The lease runs out and another attempt follows.
        this.app.ports.log.error("a delivery attempt failed", { error: String(error) });
      })
      .finally(() => {
        this.#running--;
        if (this.#running === CONCURRENCY - BATCH_MAX || this.#running === 0) this.wake();
        if (this.#running > 0) return;
        for (const resolve of this.#idle.splice(0)) resolve();
      });
  }
}
