import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { LogFollower, type Step } from "../../kv/log/follow.ts";
import type { Sequenced } from "../../kv/log/log.ts";
import { everyQueued } from "../../kv/store/pages.ts";
import { deliveries, type DeliveryRecord, webhooks } from "../../kv/records/webhook.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { queueHeads } from "../../kv/store/walk.ts";
import type { App } from "../work/work.ts";
import type { Cancel } from "../ports/ports.ts";
import { AttemptCounts } from "./attempt_counts.ts";
import { attemptDelivery } from "./attempt.ts";
import { type Claim, claimDue } from "./claim.ts";
import { isWebhookEvent } from "../events/types/webhook_events.ts";
import {
  CREATED_MAX,
  createDelivery,
  fanOut,
  type Sendable,
  type Started,
  WEBHOOKS_READ_MAX,
} from "./fan_out.ts";
import { type Lane, Lanes } from "./scheduler/scheduler.ts";
import { endLease, type Lease, leaseOut, takeBackAhead, takeBackLost } from "./leases.ts";
import { Pacing } from "./scheduler/backpressure.ts";
import { batchOf } from "./ledger.ts";
import { dueAt } from "./retry_policy.ts";
import type { Rounds } from "../ports/rounds.ts";
import { recoveryRounds } from "./recovery_worker.ts";

/** What nobody here was told of is found this soon all the same. */
const SWEEP_MS = 15_000;
/** New events that fan-out finds in memory: what it does while they come, it does without a read. */
const EVENTS_HELD = 256;
/** Webhooks that are read at once. */
const PAGE = 500;
/** How soon to look again after trouble. */
const RETRY_MS = 1_000;

/**
 * Sends events to webhooks. A follower of the log makes one delivery for each matching webhook, exactly
 * once; a delivery is its own job: a row with a due time that is claimed with a lease, its attempt
 * counted at the claim, so a crash can repeat an attempt but never lose a delivery.
 */
export class Deliveries {
  readonly recoveries: Rounds;
  /** The attempts of each webhook. */
  readonly attempts: AttemptCounts;
  readonly #lanes = new Lanes();
  readonly #pacing: Pacing;
  #follower: LogFollower | null = null;
  /** Tenants that have webhooks, so that the log of the others is left in peace. */
  readonly #subscribed = new Set<string>();
  /** What fan-out has reserved for a commit of which nothing is known yet. */
  #reserved: Started[] = [];
  /** When the next lease ends. */
  #leaseMs = Infinity;
  /** Claims and attempts that have not ended. */
  #tasks = 0;
  #sweeping: Promise<void> | null = null;
  #sweptAtMs = 0;
  #timer: Cancel | null = null;
  #timerMs = Infinity;
  #stopped = false;
  #idle: (() => void)[] = [];

  constructor(private readonly appOf: () => App) {
    this.recoveries = recoveryRounds(appOf);
    this.#pacing = new Pacing(
      () => appOf().ports.clock,
      (org) => this.#hasRoom(org),
      () => this.#follower?.wake(),
    );
    this.attempts = new AttemptCounts(
      () => appOf().store,
      (error) => appOf().ports.log.error("attempts could not be counted", { error: String(error) }),
    );
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
    const { store, log, ports } = this.app;
    const all = everyQueued(store, webhooks, "all", { limit: PAGE });
    for await (const { tenant } of all) this.subscribe(tenant);
    const complain = (error: unknown) => {
      this.#giveBack();
      ports.log.error("webhook fan-out failed", { error: String(error) });
    };
    this.#follower = new LogFollower(store, log, {
      name: "webhooks",
      holdsEvents: EVENTS_HELD,
      wants: (type, tenant) =>
        isWebhookEvent(type) && (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) =>
        store.sole
          ? (await store.all(webhooks, tenant, WEBHOOKS_READ_MAX)).length > 0
          : await store.count(webhooks, tenant) > 0,
      ready: ({ org }) => this.#stopped || this.#pacing.mayFanOut(org),
      step: (tx, tenant, events, part) => this.#fanOut(tx, tenant, events, part),
    }, complain);
    await takeBackAhead(this.app);
    this.sweep();
  }

  /** The webhook has a delivery that is due then. Called after the commit that says so. */
  announce(tenant: Tenant, webhookId: string, dueMs: number): void {
    const nowMs = this.app.ports.clock.now();
    this.#lanes.announce(tenant, webhookId, dueAt(dueMs, nowMs), nowMs);
    this.wake();
  }

  /** Begins whatever is due, as far as there is room. */
  wake(): void {
    if (this.#stopped) return;
    const { clock } = this.app.ports;
    const nowMs = clock.now();
    for (;;) {
      const turn = this.#lanes.next(nowMs, batchOf(this.app.store));
      if (turn === null) break;
      this.#track(this.#serve(turn.lane, turn.room));
    }
    const waitMs = Math.max(1, Math.min(this.#lanes.nextMs, this.#nextSweepMs) - nowMs);
    // One that comes sooner looks again then; to set it anew each time would cost more than the look.
    if (nowMs + waitMs >= this.#timerMs) return;
    this.#timer?.();
    this.#timerMs = nowMs + waitMs;
    this.#timer = clock.after(waitMs, () => this.#look());
  }

  #look(): void {
    this.#timerMs = Infinity;
    if (this.app.ports.clock.now() >= this.#nextSweepMs) this.sweep();
    else this.wake();
  }

  get #nextSweepMs(): number {
    return Math.min(this.#sweptAtMs + SWEEP_MS, this.#leaseMs);
  }

  /** Looks for whatever nobody here was told of: what an instance that is gone has left, in the log or due. */
  sweep(): void {
    if (this.#stopped) return;
    this.#follower?.wake();
    this.recoveries.wake();
    this.#sweptAtMs = this.app.ports.clock.now();
    this.#leaseMs = Infinity;
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
      // What ends makes room for more.
      await this.#follower?.idle();
    }
  }

  /** Starts nothing more and waits for what is under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    this.#pacing.stop();
    await this.recoveries.stop();
    await this.idle();
    await this.attempts.stop();
  }

  /** Puts a test on record; it is sent right after the commit, whatever the webhook's state. */
  create(tx: Tx, tenant: Tenant, webhookId: string, event: Sendable): DeliveryRecord {
    return createDelivery(this.app, tx, tenant, webhookId, event);
  }

  async #findDue(): Promise<void> {
    const { store, ports: { clock } } = this.app;
    this.#leaseMs = Math.min(this.#leaseMs, await takeBackLost(this.app));
    for await (const { tenant, key } of queueHeads(store, deliveries, "due")) {
      const [webhookId, dueMs] = key as [string, number];
      const nowMs = clock.now();
      this.#lanes.announce(tenant, webhookId, dueAt(dueMs, nowMs), nowMs);
    }
  }

  /** Makes the deliveries of some events, and begins those that find room at once. */
  async #fanOut(
    tx: Tx,
    tenant: Tenant,
    events: readonly Sequenced[],
    part: string,
  ): Promise<Step> {
    // The commit of a run before has failed, or this would be the next one's.
    this.#giveBack();
    const { clock } = this.app.ports;
    const started: Started[] = this.#reserved = [];
    const reserve = (webhookId: string) =>
      this.#stopped ? null : this.#lanes.reserve(tenant, webhookId, clock.now());
    // With room at the beginning, what comes when it is used up is made by the next step.
    const paced = this.#lanes.roomFor(tenant.org) > 0;
    const hasRoom = () => !paced || this.#lanes.roomFor(tenant.org) > 0;
    const step = await fanOut(this.app, tx, tenant, events, part, { reserve, hasRoom, started });
    leaseOut(this.app, tx, tenant, started, (claims) => {
      this.#reserved = [];
      claims.forEach((claim, at) => this.#track(this.#run(started[at]!.lane, claim)));
    });
    return step;
  }

  #giveBack(): void {
    const nowMs = this.app.ports.clock.now();
    for (const { lane } of this.#reserved.splice(0)) this.#lanes.ended(lane, null, nowMs);
  }

  /** Who has nothing under way waits for nobody. */
  #hasRoom(org: string): boolean {
    return this.#lanes.runningOf(org) === 0 || this.#lanes.roomFor(org) >= CREATED_MAX;
  }

  /** Takes what is due for one webhook and begins it. */
  async #serve(lane: Lane, room: number): Promise<void> {
    const { ports: { clock, log } } = this.app;
    try {
      const { claims, nextMs } = await claimDue(this.app, lane, room);
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

  async #run(lane: Lane, claim: Claim): Promise<void> {
    const { ports: { clock, log } } = this.app;
    let answered: boolean | null = null;
    try {
      answered = await attemptDelivery(this.app, claim);
      if (--claim.lease.left === 0) this.#track(this.#end(claim.lease));
    } catch (error) {
      // The lease runs out and another attempt follows.
      log.error("a delivery attempt failed", { error: String(error) });
      this.#leaseMs = Math.min(this.#leaseMs, claim.lease.record.ends_at_ms);
    }
    this.#lanes.ended(lane, answered, clock.now());
    if (!this.#stopped) this.#pacing.attemptEnded();
    this.wake();
  }

  async #end(lease: Lease): Promise<void> {
    try {
      await endLease(this.app, lease);
    } catch (error) {
      // It is removed when its time is over.
      this.app.ports.log.error("a lease could not be removed", { error: String(error) });
    }
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
