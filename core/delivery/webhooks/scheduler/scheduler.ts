import { dueAt } from "../../../../kv/store/clock.ts";
import { type Tenant, tenantKey } from "../../../../kv/store/collection.ts";
import { RecentMap } from "../../../../kv/store/recent.ts";
import type { Receiver } from "./receiver.ts";
import { TimerHeap } from "./timer_heap.ts";
import { Turns } from "./turns.ts";

/** Attempts under way at once, over all webhooks. */
export const CONCURRENCY = 336;
/**
 * Attempts of one organization under way at once, however many webhooks it has and however slowly they answer.
 * The rest stays free for the others, for which fan-out creates up to 80 deliveries at once.
 */
export const ORGANIZATION_MAX = 256;
/** The highest limit of one webhook. */
const LIMIT_MAX = 16;
/** The limit of a webhook whose receiver answers, while half of all slots are free. */
export const LIMIT_IDLE_MAX = 64;
/** The first limit of a webhook: it doubles with each answer and halves with each attempt that got none. */
const LIMIT_FIRST = 4;
/** Receivers whose last attempt got no answer share this many slots, so that they cannot take all. */
const SUSPECTS_MAX = CONCURRENCY / 2;
/** Longer than a rate limit's window. */
const WAIT_MS_MAX = 2 * 60 * 1000;
/** Idle webhooks whose limit is remembered. */
const LIMITS_KEPT = 10_000;

/**
 * Decides whose deliveries are attempted next. Organizations take turns, and so do the receivers of each, so
 * the backlog of a slow receiver is never scanned to find the others. A receiver at its limit, or
 * waiting for its rate limit, costs nothing until that changes.
 */
export class DeliveryScheduler {
  readonly #receivers = new Map<string, Receiver>();
  /** Receivers with a due delivery and a free slot, in the order of their turns. */
  readonly #ready = { trusted: new Turns(), suspect: new Turns() };
  #suspectsTurn = false;
  readonly #timers = new TimerHeap();
  /** Limits that idle receivers had reached, so that a pause does not reset them. */
  readonly #limits = new RecentMap<number>(LIMITS_KEPT);
  #running = 0;
  readonly #runningOf = new Map<string, number>();
  #suspects = 0;

  /** Attempts under way or reserved. */
  get running(): number {
    return this.#running;
  }

  /** Attempts of an organization under way or reserved. */
  runningOf(org: string): number {
    return this.#runningOf.get(org) ?? 0;
  }

  /** Attempts that an organization may start now. */
  slotsFor(org: string): number {
    return Math.min(CONCURRENCY - this.#running, ORGANIZATION_MAX - this.runningOf(org));
  }

  /** Notes that the webhook has a delivery that is due at `dueMs`. */
  schedule(tenant: Tenant, webhookId: string, dueMs: number, nowMs: number): void {
    const receiver = this.#receiverOf(tenant, webhookId);
    if (dueMs > receiver.dueMs) return;
    receiver.dueMs = dueMs;
    this.#place(receiver, nowMs);
  }

  /**
   * Reserves an attempt for a delivery that is about to be created, when no other delivery of the webhook waits
   * and its receiver answers; null when the delivery must wait for its turn.
   */
  reserve(tenant: Tenant, webhookId: string, nowMs: number): Receiver | null {
    if (this.#running >= CONCURRENCY) return null;
    const receiver = this.#receiverOf(tenant, webhookId);
    const waits = receiver.claiming || receiver.suspect || receiver.dueMs <= nowMs ||
      notBefore(receiver, nowMs) > nowMs;
    const isFree = !waits && this.#slotsOf(receiver) > 0;
    if (isFree) this.#reserve(receiver, 1);
    else this.#place(receiver, nowMs);
    return isFree ? receiver : null;
  }

  /**
   * The next receiver to claim deliveries for, and how many. As many attempts are reserved until `claimed` and
   * `ended` report their outcome. Null when nothing that is due may start.
   */
  next(nowMs: number, most: number): { receiver: Receiver; slots: number } | null {
    this.#fireTimers(nowMs);
    if (this.#running >= CONCURRENCY) return null;
    const { trusted, suspect } = this.#ready;
    this.#suspectsTurn = !this.#suspectsTurn;
    const order = this.#suspectsTurn ? [suspect, trusted] : [trusted, suspect];
    for (const turns of order) {
      if (turns === suspect && this.#suspects >= SUSPECTS_MAX) continue;
      for (;;) {
        const receiver = turns.take((org) => this.slotsFor(org) > 0);
        if (receiver === null) break;
        const slots = Math.min(most, this.#slotsOf(receiver));
        if (slots <= 0) continue;
        receiver.claiming = true;
        receiver.dueMs = Infinity;
        this.#reserve(receiver, slots);
        return { receiver, slots };
      }
    }
    return null;
  }

  /** Notes that `taken` of the reserved attempts have started; `nextMs` is when the next delivery is due. */
  claimed(
    receiver: Receiver,
    reserved: number,
    taken: number,
    nextMs: number,
    nowMs: number,
  ): void {
    receiver.claiming = false;
    this.#reserve(receiver, taken - reserved);
    receiver.dueMs = Math.min(receiver.dueMs, nextMs);
    this.#place(receiver, nowMs);
  }

  /** Notes that an attempt has ended; `answered` is null when it was not made after all. */
  ended(receiver: Receiver, answered: boolean | null, nowMs: number): void {
    this.#reserve(receiver, -1);
    if (answered !== null) {
      this.#trust(receiver, answered);
      receiver.limit = answered
        ? Math.min(LIMIT_MAX, receiver.limit * 2)
        : Math.max(1, receiver.limit >> 1);
    }
    this.#place(receiver, nowMs);
  }

  /** When the next delivery comes due, or Infinity. */
  get nextMs(): number {
    return this.#timers.nextMs;
  }

  #receiverOf(tenant: Tenant, webhookId: string): Receiver {
    const id = `${tenantKey(tenant)}/${webhookId}`;
    const known = this.#receivers.get(id);
    if (known !== undefined) return known;
    const receiver: Receiver = {
      id,
      tenant,
      webhookId,
      dueMs: Infinity,
      notBeforeMs: 0,
      running: 0,
      limit: this.#limits.get(id) ?? LIMIT_FIRST,
      suspect: false,
      claiming: false,
      timerMs: Infinity,
    };
    this.#receivers.set(id, receiver);
    return receiver;
  }

  #slotsOf(receiver: Receiver): number {
    const { tenant, running, suspect } = receiver;
    const own = Math.min(this.slotsFor(tenant.org), this.#limitOf(receiver) - running);
    return suspect ? Math.min(own, SUSPECTS_MAX - this.#suspects) : own;
  }

  /** A receiver at the highest limit may also use half of all slots as long as they are free. */
  #limitOf({ limit, running }: Receiver): number {
    if (limit < LIMIT_MAX) return limit;
    const free = Math.max(0, CONCURRENCY / 2 - this.#running);
    return Math.max(LIMIT_MAX, Math.min(LIMIT_IDLE_MAX, running + free));
  }

  #reserve(receiver: Receiver, n: number): void {
    const { org } = receiver.tenant;
    receiver.running += n;
    this.#running += n;
    const sum = this.runningOf(org) + n;
    if (sum === 0) this.#runningOf.delete(org);
    else this.#runningOf.set(org, sum);
    if (receiver.suspect) this.#suspects += n;
  }

  #trust(receiver: Receiver, answered: boolean): void {
    if (receiver.suspect === !answered) return;
    const { trusted, suspect } = this.#ready;
    const [from, to] = answered ? [suspect, trusted] : [trusted, suspect];
    if (from.delete(receiver)) to.add(receiver);
    receiver.suspect = !answered;
    this.#suspects += answered ? -receiver.running : receiver.running;
  }

  /** Moves a receiver to the ready ones, sets a timer for it, or forgets it when it has nothing to do. */
  #place(receiver: Receiver, nowMs: number): void {
    const atMs = Math.max(receiver.dueMs, notBefore(receiver, nowMs));
    if (atMs === Infinity) {
      if (receiver.running === 0 && !receiver.claiming) this.#forget(receiver);
      return;
    }
    if (atMs > nowMs) {
      if (atMs < receiver.timerMs) {
        receiver.timerMs = atMs;
        this.#timers.push({ atMs, receiver });
      }
      return;
    }
    if (receiver.claiming || receiver.running >= this.#limitOf(receiver)) return;
    (receiver.suspect ? this.#ready.suspect : this.#ready.trusted).add(receiver);
  }

  #forget({ id, limit, suspect }: Receiver): void {
    this.#receivers.delete(id);
    if (suspect) this.#limits.delete(id);
    else if (limit > LIMIT_FIRST) this.#limits.set(id, limit);
  }

  #fireTimers(nowMs: number): void {
    while (this.nextMs <= nowMs) {
      const { atMs, receiver } = this.#timers.pop();
      if (atMs !== receiver.timerMs) continue;
      receiver.timerMs = Infinity;
      if (this.#receivers.get(receiver.id) === receiver) this.#place(receiver, nowMs);
    }
  }
}

/** When the rate limit of a receiver allows another attempt. */
const notBefore = ({ notBeforeMs }: Receiver, nowMs: number): number =>
  dueAt(notBeforeMs, WAIT_MS_MAX, nowMs);
