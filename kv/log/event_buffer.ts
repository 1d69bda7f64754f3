import { type Tenant, tenantKey } from "../store/collection.ts";
import type { Sequenced } from "./log.ts";

/** A larger event counts as several, so that the limit is one of memory too. */
const CHARS_PER_EVENT = 1_024;

/** New events of each tenant's log, without a gap, at most `limit` in all; beyond that all are let go. */
export class EventBuffer {
  readonly #tenants = new Map<string, { events: Sequenced[]; weight: number }>();
  #weight = 0;

  constructor(private readonly limit: number) {}

  /** Holds events that have just got their numbers. */
  add(tenant: Tenant, events: readonly Sequenced[]): void {
    if (this.limit === 0) return;
    const weight = weightOf(events);
    // Some may wait for a step that another instance has made.
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

  /** At most `limit` events that follow number `seq`, or null when they must be read. */
  after(tenant: Tenant, seq: number, limit: number): Sequenced[] | null {
    const events = this.#tenants.get(tenantKey(tenant))?.events;
    if (events === undefined) return null;
    const from = seq + 1 - events[0]!.seq;
    return from < 0 || from >= events.length ? null : events.slice(from, from + limit);
  }

  /** Lets go of the events up to number `seq`. */
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
