import { type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { LogFollower, type Step } from "../../../kv/log/follow.ts";
import type { Sequenced } from "../../../kv/log/log.ts";
import { queuedTenants, queueHeads } from "../../../kv/store/iterate.ts";
import { deliveries, type DeliveryRecord, webhooks } from "../../../kv/records/webhook.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import { Background, type Cancel, JobRunner } from "../../ports/ports.ts";
import { AttemptCounts } from "./attempt_counts.ts";
import { attemptDelivery, type AttemptParts } from "./attempt.ts";
import { claimDue } from "./claim.ts";
import { isWebhookEvent } from "../../events/events.ts";
import {
  CREATED_MAX,
  createDelivery,
  fanOut,
  type Sendable,
  type Started,
  WEBHOOKS_READ_MAX,
} from "./fan_out.ts";
import type { KeyRateParts } from "./key_rate.ts";
import { type Claim, endLease, grantLease, reclaimExpired, reclaimImplausible } from "./leases.ts";
import { batchOf, type DeliveryQueue } from "./ledger.ts";
import { attemptAt } from "../jobs/retry_policy.ts";
import { recoveryRunner } from "./recovery_worker.ts";
import { Backpressure } from "./scheduler/backpressure.ts";
import type { Receiver } from "./scheduler/receiver.ts";
import { DeliveryScheduler } from "./scheduler/scheduler.ts";

/** The time between sweeps, which find deliveries of which this process got no signal. */
const SWEEP_MS = 15_000;
/** New events kept in memory, so that fan-out need not read them from the store. */
const BUFFERED_EVENTS = 256;
/** How long to wait after a claim has failed. */
const RETRY_MS = 1_000;

/** The parts of the relay that deliver webhooks. */
export interface DeliveryParts
  extends Context, KeyRateParts, Omit<AttemptParts, "queue" | "attempts"> {}

/**
 * Delivers events to webhooks. A follower of the log creates one delivery for each subscribed webhook, exactly
 * once. A delivery is its own job: a row with a due time that is claimed with a lease, and whose attempt is
 * counted at the claim, so a crash may repeat an attempt but never loses a delivery.
 */
export class Deliveries implements DeliveryQueue {
  readonly recoveries: JobRunner;
  /** The attempts of each webhook. */
  readonly attempts: AttemptCounts;
  readonly #parts: DeliveryParts & AttemptParts;
  readonly #scheduler = new DeliveryScheduler();
  readonly #backpressure: Backpressure;
  #follower: LogFollower | null = null;
  /** Tenants that have webhooks; the logs of the others are not read. */
  readonly #subscribed = new Set<string>();
  /** Attempts reserved by fan-out for a commit whose outcome is not known yet. */
  #reserved: Started[] = [];
  /** Finds work of which this process got no signal, such as deliveries that an ended instance has left. */
  readonly #sweeps: JobRunner;
  /** Claims and attempts that have not ended. */
  readonly #tasks: Background;
  #timer: Cancel | null = null;
  #timerMs = Infinity;
  #stopped = false;

  constructor(parts: DeliveryParts) {
    const { store, ports } = parts;
    this.recoveries = recoveryRunner({ store, ports, queue: this });
    this.#sweeps = new JobRunner({
      ports,
      failure: "due deliveries could not be found",
      search: () => this.#findDue(),
    });
    this.#tasks = new Background((name, error) =>
      ports.log.error(`${name} failed`, { error: String(error) })
    );
    this.#backpressure = new Backpressure(
      ports.clock,
      (org) => this.#mayFanOut(org),
      () => this.#follower?.wake(),
    );
    this.attempts = new AttemptCounts(
      store,
      (error) => ports.log.error("attempts could not be counted", { error: String(error) }),
    );
    this.#parts = { ...parts, queue: this, attempts: this.attempts };
  }

  /** Makes fan-out skip the events that a tenant's log holds now. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    await this.#follower?.skip(tx, tenant);
  }

  /** Makes fan-out read the tenant's log, because the tenant has a webhook or may soon. Only a hint. */
  subscribe(tenant: Tenant): void {
    this.#subscribed.add(tenantKey(tenant));
  }

  /** Takes over the work that earlier processes left, and follows the log from now on. */
  async start(): Promise<void> {
    const { store, log, ports } = this.#parts;
    for await (const tenant of queuedTenants(store, webhooks, "all")) this.subscribe(tenant);
    const complain = (error: unknown) => {
      this.#releaseReserved();
      ports.log.error("webhook fan-out failed", { error: String(error) });
    };
    this.#follower = new LogFollower(store, log, {
      name: "webhooks",
      bufferedEvents: BUFFERED_EVENTS,
      wants: (type, tenant) =>
        isWebhookEvent(type) && (!store.sole || this.#subscribed.has(tenantKey(tenant))),
      cares: async (tenant) =>
        store.sole
          ? (await store.all(webhooks, tenant, WEBHOOKS_READ_MAX)).length > 0
          : await store.count(webhooks, tenant) > 0,
      ready: ({ org }) => this.#stopped || this.#backpressure.mayFanOut(org),
      step: (tx, tenant, events, part) => this.#fanOut(tx, tenant, events, part),
    }, complain);
    await reclaimImplausible(this.#parts);
    this.sweep();
  }

  schedule(tenant: Tenant, webhookId: string, dueMs: number): void {
    const nowMs = this.#parts.ports.clock.now();
    this.#scheduler.schedule(tenant, webhookId, attemptAt(dueMs, nowMs), nowMs);
    this.wake();
  }

  /** Starts due attempts within the free slots. */
  wake(): void {
    if (this.#stopped) return;
    const { store, ports: { clock } } = this.#parts;
    const nowMs = clock.now();
    for (;;) {
      const turn = this.#scheduler.next(nowMs, batchOf(store));
      if (turn === null) break;
      this.#tasks.run("a claim", () => this.#serve(turn.receiver, turn.slots));
    }
    const nextMs = Math.max(nowMs + 1, this.#scheduler.nextMs);
    // An earlier timer stays: setting it again each time would cost more than one extra wake.
    if (nextMs >= this.#timerMs) return;
    this.#timer?.();
    this.#timerMs = nextMs;
    this.#timer = clock.after(nextMs - nowMs, () => {
      this.#timerMs = Infinity;
      this.wake();
    });
  }

  /** Finds work of which this process got no signal. */
  sweep(): void {
    this.#sweeps.wake();
  }

  /** Attempts under way or reserved. */
  get underWay(): number {
    return this.#scheduler.running;
  }

  /** Resolves when nothing is due or under way. */
  async idle(): Promise<void> {
    await this.#follower?.idle();
    do {
      await this.#sweeps.idle();
      await this.recoveries.idle();
      await this.#tasks.idle();
      // Ended attempts free slots, so fan-out may go on.
      await this.#follower?.idle();
    } while (this.#tasks.size > 0);
  }

  /** Starts no more attempts and waits for those under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    this.#backpressure.stop();
    await this.recoveries.stop();
    await this.#sweeps.stop();
    await this.idle();
    await this.attempts.stop();
  }

  /** Creates a test delivery, which is sent right after the commit. */
  create(tx: Tx, tenant: Tenant, webhookId: string, event: Sendable): DeliveryRecord {
    return createDelivery(this.#parts, tx, tenant, webhookId, event);
  }

  /** Returns when to sweep again. */
  async #findDue(): Promise<number> {
    const { store, ports: { clock } } = this.#parts;
    this.#follower?.wake();
    this.recoveries.wake();
    const leaseMs = await reclaimExpired(this.#parts);
    for await (const { tenant, key } of queueHeads(store, deliveries, "due")) {
      const [webhookId, dueMs] = key as [string, number];
      const nowMs = clock.now();
      this.#scheduler.schedule(tenant, webhookId, attemptAt(dueMs, nowMs), nowMs);
    }
    this.wake();
    return Math.min(leaseMs, clock.now() + SWEEP_MS);
  }

  /** Creates the deliveries of some events, and starts at once those that get a slot. */
  async #fanOut(
    tx: Tx,
    tenant: Tenant,
    events: readonly Sequenced[],
    part: string,
  ): Promise<Step> {
    // A reservation that is left belongs to an earlier run whose commit has failed.
    this.#releaseReserved();
    const { clock } = this.#parts.ports;
    const started: Started[] = this.#reserved = [];
    const reserve = (webhookId: string) =>
      this.#stopped ? null : this.#scheduler.reserve(tenant, webhookId, clock.now());
    // If slots are free at the beginning, the step ends when they are used up, and the next step continues.
    const isPaced = this.#scheduler.slotsFor(tenant.org) > 0;
    const areFree = () => !isPaced || this.#scheduler.slotsFor(tenant.org) > 0;
    const step = await fanOut(this.#parts, tx, tenant, events, part, { reserve, areFree, started });
    grantLease(this.#parts, tx, tenant, started, (claims) => {
      this.#reserved = [];
      claims.forEach((claim, at) => this.#start(started[at]!.receiver, claim));
    });
    return step;
  }

  #releaseReserved(): void {
    const nowMs = this.#parts.ports.clock.now();
    for (const { receiver } of this.#reserved.splice(0)) {
      this.#scheduler.ended(receiver, null, nowMs);
    }
  }

  /** An organization with nothing under way never waits. */
  #mayFanOut(org: string): boolean {
    return this.#scheduler.runningOf(org) === 0 || this.#scheduler.slotsFor(org) >= CREATED_MAX;
  }

  /** Claims the due deliveries of one receiver and starts their attempts. */
  async #serve(receiver: Receiver, slots: number): Promise<void> {
    const { ports: { clock, log } } = this.#parts;
    try {
      const { claims, nextMs } = await claimDue(this.#parts, receiver, slots);
      this.#scheduler.claimed(receiver, slots, claims.length, nextMs, clock.now());
      for (const claim of claims) this.#start(receiver, claim);
    } catch (error) {
      log.error("due deliveries could not be claimed", { error: String(error) });
      const againMs = clock.now() + RETRY_MS;
      receiver.notBeforeMs = Math.max(receiver.notBeforeMs, againMs);
      this.#scheduler.claimed(receiver, slots, 0, againMs, clock.now());
    }
    this.wake();
  }

  #start(receiver: Receiver, claim: Claim): void {
    this.#tasks.run("an attempt", () => this.#run(receiver, claim));
  }

  async #run(receiver: Receiver, claim: Claim): Promise<void> {
    const { store, ports: { clock, log } } = this.#parts;
    let answered: boolean | null = null;
    try {
      answered = await attemptDelivery(this.#parts, claim);
      if (--claim.lease.left === 0) {
        this.#tasks.run("the removal of a lease", () => endLease(store, claim.lease));
      }
    } catch (error) {
      // The lease expires and another attempt follows.
      log.error("a delivery attempt failed", { error: String(error) });
      this.#sweeps.wakeAt(claim.lease.record.ends_at_ms);
    }
    this.#scheduler.ended(receiver, answered, clock.now());
    if (!this.#stopped) this.#backpressure.attemptEnded();
    this.wake();
  }
}
