import { type Tenant, tenantKey } from "../store/collection.ts";
import type { Sequenced } from "./log.ts";

/** An event of more characters counts as several, so that `limit` bounds memory. */
const CHARS_PER_EVENT = 1_024;

/**
 * New events of each tenant's log, without a gap, at most `limit` in all. When that is exceeded the buffer
 * drops everything, and its user reads the log.
 */
export class EventBuffer {
  readonly #tenants = new Map<string, { events: Sequenced[]; weight: number }>();
  #weight = 0;

  constructor(private readonly limit: number) {}

  /** Buffers events that have just got their numbers. */
  add(tenant: Tenant, events: readonly Sequenced[]): void {
    if (this.limit === 0) return;
    const weight = weightOf(events);
    // Events that another instance has handled are never dropped one by one.
    if (this.#weight + weight > this.limit) this.#clear();
    if (weight > this.limit) return;
    const key = tenantKey(tenant);
    const buffered = this.#tenants.get(key);
    if (buffered !== undefined && buffered.events.at(-1)!.seq + 1 === events[0]!.seq) {
      buffered.events.push(...events);
      buffered.weight += weight;
    } else {
      this.#weight -= buffered?.weight ?? 0;
      this.#tenants.set(key, { events: [...events], weight });
    }
    this.#weight += weight;
  }

  /** At most `limit` events after number `seq`, or null when they must be read. */
  after(tenant: Tenant, seq: number, limit: number): Sequenced[] | null {
    const events = this.#tenants.get(tenantKey(tenant))?.events;
    if (events === undefined) return null;
    const from = seq + 1 - events[0]!.seq;
    return from < 0 || from >= events.length ? null : events.slice(from, from + limit);
  }

  /** Drops the events up to number `seq`. */
  drop(tenant: Tenant, seq: number): void {
    const key = tenantKey(tenant);
    const buffered = this.#tenants.get(key);
    if (buffered === undefined) return;
    const { events } = buffered, all = seq >= events.at(-1)!.seq;
    const done = all
      ? buffered.weight
      : weightOf(events.splice(0, Math.max(0, seq + 1 - events[0]!.seq)));
    this.#weight -= done;
    buffered.weight -= done;
    if (all) this.#tenants.delete(key);
  }

  #clear(): void {
    this.#tenants.clear();
    this.#weight = 0;
  }
}

function weightOf(events: readonly Sequenced[]): number {
  let weight = 0;
  for (const { json } of events) weight += Math.ceil(json.length / CHARS_PER_EVENT);
  return weight;
}
