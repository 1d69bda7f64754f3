import { z } from "zod";
import { APART_MS_MAX } from "../instances/shared_clock.ts";
import { deleteKey } from "../store/change.ts";
import { dueAt } from "../store/clock.ts";
import { collection, type Tenant, tenantKey } from "../store/collection.ts";
import type { EventLog, Follower, Sequenced } from "./log.ts";
import { EventBuffer } from "./event_buffer.ts";
import {
  pendingGroup,
  pendingGroupPrefix,
  pendingKey,
  pendingPrefix,
  setPending,
  tenantOfPending,
} from "./pending.ts";
import { hasSegmentAfter } from "./segments.ts";
import type { Store } from "../store/store.ts";
import type { Reader } from "../store/reader.ts";
import type { Tx } from "../store/tx.ts";

const Cursor = z.strictObject({
  id: z.string(),
  seq: z.int().min(0),
  part: z.string(),
  /** The time of the step that came here. */
  at_ms: z.number().default(0), // absent in cursors of earlier versions
});

/** Each follower's position in a tenant's log. */
const cursors = collection({ name: "log_cursors", schema: Cursor, cached: 10_000 });

/** What one step has done. Its writes commit together with the new position. */
export interface Step {
  /** How many of the events are handled. */
  readonly done: number;
  /**
   * When the next event needs several commits, the last of its parts that is handled; else empty. Parts are
   * handled in the order of their names.
   */
  readonly part: string;
}

export interface FollowerRules extends Follower {
  /** How many events a step gets at most; 64 by default. */
  readonly eventsPerStep?: number;
  /** How many new events of 1 KiB are buffered so that their step need not read them; 0 by default. */
  readonly bufferedEvents?: number;
  /** How many tenants are served at once, so that they share commits; 1 by default. */
  readonly tenantsAtOnce?: number;
  /**
   * False while a tenant's next step should wait; other tenants go on. Whoever returns false wakes the
   * follower later. True by default.
   */
  readonly ready?: (tenant: Tenant) => boolean;
  /** False when the follower may skip all of the tenant's log up to now. */
  readonly cares: (tenant: Tenant) => Promise<boolean>;
  readonly step: (
    tx: Tx,
    tenant: Tenant,
    events: readonly Sequenced[],
    part: string,
    /** The time of the step: not before that of the step before it, although another instance may have done that. */
    atMs: number,
  ) => Promise<Step>;
}

/** The lowest position among followers for which the tenant is pending; Infinity when there is none. */
export async function followedTo(store: Store, log: EventLog, tenant: Tenant): Promise<number> {
  const passed = await Promise.all(log.followers.map(async (follower) => {
    const waits = await isPending(store, follower.name, tenant);
    return waits ? (await placeOf(store, follower, tenant)).seq : Infinity;
  }));
  return Math.min(...passed);
}

async function isPending({ kv }: Store, name: string, tenant: Tenant): Promise<boolean> {
  const key = tenantKey(tenant);
  for await (const group of kv.list({ prefix: pendingGroupPrefix(name) })) {
    if (pendingGroup(group)!.some(({ tenant }) => tenantKey(tenant) === key)) return true;
  }
  // Read after the groups: a tenant that leaves a group unfinished gets a key of its own.
  return (await kv.get(pendingKey(name, tenant))).versionstamp !== null;
}

async function placeOf(
  db: Reader,
  { name: id, place }: Follower,
  tenant: Tenant,
): Promise<z.infer<typeof Cursor>> {
  if (place !== undefined) return { id, seq: await place(db, tenant), part: "", at_ms: 0 };
  return await db.get(cursors, tenant, id) ?? { id, seq: 0, part: "", at_ms: 0 };
}

/** Where a tenant's turn ends: at the end of its log, when its pending key goes, or at an event's number. */
type Goal = Deno.KvEntry<unknown> | number;

const EVENTS_PER_STEP = 64;
/** Steps of one tenant before the others get their turn. */
const STEPS_PER_PASS = 16;
/** This many events wake a lazy follower before the sequencing run ends. */
const WAITING_MAX = 8_192;
/** Delay before a failed pass is retried. */
const RETRY_MS = 1_000;

/**
 * Follows every tenant's log from a stored position. A step's writes and its new position are one commit, so
 * each event is handled exactly once, whenever the process dies.
 */
export class LogFollower {
  #running: Promise<void> | null = null;
  #again = false;
  #retrying = false;
  /** How many events were sequenced since the last wake. */
  #unhandled = 0;
  /** New events, by tenant. */
  readonly #buffer: EventBuffer;
  /** The newest step of each tenant, until it ends. */
  readonly #steps = new Map<string, Promise<boolean>>();

  constructor(
    private readonly store: Store,
    private readonly log: EventLog,
    private readonly rules: FollowerRules,
    private readonly onError: (error: unknown) => void,
  ) {
    log.follow(rules);
    this.#buffer = new EventBuffer(rules.bufferedEvents ?? 0);
    log.onSequenced((tenant, events) => {
      this.#buffer.add(tenant, events);
      if (!events.some(({ type }) => rules.wants(type, tenant))) return;
      this.#unhandled += events.length;
      if (!rules.lazy || this.#unhandled >= WAITING_MAX) this.wake();
    });
    // The events of one sequencing run make one step for each tenant.
    log.onDrained(() => {
      if (this.#unhandled > 0) this.wake();
    });
  }

  /** Handles all pending tenants; also called at the start, for what a crash left. */
  wake(): void {
    this.#unhandled = 0;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Handles a tenant's events up to the log's present head, before other pending tenants. */
  async catchUp(tenant: Tenant): Promise<void> {
    const head = await this.log.head(tenant);
    while (await this.#step(tenant, head));
  }

  /** Moves a tenant's position to the end of its log, in the transaction. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    const id = this.rules.name;
    const head = await this.log.head(tenant);
    const at = await tx.get(cursors, tenant, id);
    const at_ms = at?.at_ms ?? 0;
    if ((at?.seq ?? 0) < head) tx.put(cursors, tenant, { id, seq: head, part: "", at_ms });
  }

  /** Resolves when no pass runs. A lazy follower may leave tenants pending until it is woken. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    try {
      while (this.#again) {
        this.#again = false;
        await this.#pass();
      }
    } catch (error) {
      this.#tryLater(error);
    } finally {
      this.#running = null;
    }
  }

  async #pass(): Promise<void> {
    const groups: { key: Deno.KvKey; turns: Promise<Tenant | null>[] }[] = [];
    const serving = new Map<string, Promise<unknown>>();
    for await (const entry of this.store.kv.list({ prefix: pendingPrefix(this.rules.name) })) {
      const group = pendingGroup(entry);
      const turns: Promise<Tenant | null>[] = [];
      for (
        const { tenant, seq: goal } of group ?? [{ tenant: tenantOfPending(entry), seq: entry }]
      ) {
        const key = tenantKey(tenant);
        if (serving.has(key) || serving.size === (this.rules.tenantsAtOnce ?? 1)) {
          await Promise.all(serving.values());
          serving.clear();
        }
        const turn = this.#serve(tenant, goal);
        serving.set(key, turn);
        turns.push(turn);
      }
      if (group !== null) groups.push({ key: entry.key, turns });
    }
    await Promise.all(serving.values());
    await Promise.all(groups.map(({ key, turns }) => this.#endGroup(key, turns)));
  }

  /** Deletes a group; a tenant with events left gets a pending key of its own. */
  async #endGroup(key: Deno.KvKey, turns: readonly Promise<Tenant | null>[]): Promise<void> {
    const left = (await Promise.all(turns)).filter((tenant) => tenant !== null);
    await this.store.transact((tx) => {
      for (const tenant of left) tx.stage(setPending(this.rules.name, tenant));
      tx.stage(deleteKey(key));
    });
  }

  /** One tenant's turn. It never rejects, and returns the tenant when events are left. */
  async #serve(tenant: Tenant, goal: Goal): Promise<Tenant | null> {
    try {
      // Events that come meanwhile wait, pending, until a lazy follower is woken for them.
      const last = this.#mayLeave ? await this.log.head(tenant) : Infinity;
      for (let steps = 0; steps < STEPS_PER_PASS; steps++) {
        if (this.rules.ready?.(tenant) === false) return tenant;
        if (!await this.#step(tenant, goal, last)) return null;
      }
      this.#again = true;
    } catch (error) {
      // One tenant's failure must not block the others; it stays pending.
      this.#tryLater(error);
    }
    return tenant;
  }

  #tryLater(error: unknown): void {
    // Work that the shutdown interrupts stays pending and is not an error.
    if (this.store.closing) return;
    this.onError(error);
    if (this.#retrying) return;
    this.#retrying = true;
    this.store.clock.after(RETRY_MS, () => {
      this.#retrying = false;
      if (!this.store.closing) this.wake();
    });
  }

  /** True when `onSequenced` reports every pending event here, so none need be looked for. */
  get #mayLeave(): boolean {
    return this.rules.lazy === true && this.store.sole;
  }

  /**
   * Handles the tenant's next events, after the steps of the tenant that began before: at the same time they would read
   * the same events, and all but one would be in vain. Returns true when more are left, up to about number `last`.
   */
  #step(tenant: Tenant, goal: Goal, last = Infinity): Promise<boolean> {
    const key = tenantKey(tenant);
    const before = this.#steps.get(key) ?? Promise.resolve();
    const step = before.catch(() => {}).then(() => this.#stepNow(tenant, goal, last))
      .finally(() => {
        if (this.#steps.get(key) === step) this.#steps.delete(key);
      });
    this.#steps.set(key, step);
    return step;
  }

  async #stepNow(tenant: Tenant, goal: Goal, last: number): Promise<boolean> {
    const head = Math.max(await this.log.head(tenant), typeof goal === "number" ? goal : 0);
    const cares = await this.rules.cares(tenant);
    return await this.store.transact(async (tx) => {
      // The step reads, and so checks, the follower's own records again.
      const at = await placeOf(this.rules.place ? this.store : tx, this.rules, tenant);
      if (typeof goal === "number" && at.seq >= goal) return false;
      const limit = this.rules.eventsPerStep ?? EVENTS_PER_STEP;
      const buffered = this.#buffer.after(tenant, at.seq, limit);
      const events = cares ? buffered ?? await this.log.read(tenant, at.seq, limit) : [];
      if (events.length === 0) {
        if (at.seq < head) this.#moveTo(tx, tenant, { ...at, seq: head, part: "" });
        await this.#clearPending(tx, goal);
        return false;
      }
      if (at.seq >= last && typeof goal !== "number") return false;
      const nowMs = this.store.clock.now();
      const at_ms = Math.max(nowMs, dueAt(at.at_ms, APART_MS_MAX, nowMs));
      const { done, part } = await this.rules.step(tx, tenant, events, at.part, at_ms);
      if (done === 0 && part <= at.part) {
        throw new Error(`${this.rules.name} makes no progress at event ${at.seq}`);
      }
      // Retention may have left a gap after the old position, so the event's own number counts.
      const seq = done === 0 ? at.seq : events[done - 1]!.seq;
      this.#moveTo(tx, tenant, { ...at, seq, part, at_ms });
      tx.afterCommit(() => this.#buffer.drop(tenant, seq));
      if (typeof goal === "number") return seq < goal;
      // Buffered events are most likely the last ones, so the pending key goes in the same commit. A log that
      // grows changes the key before this commits, so a lazy follower clears it in a commit of its own.
      if (buffered === null || part !== "" || done < events.length || seq < head) return true;
      if (this.#mayLeave) return true;
      // The store may have a new segment that the remembered head lacks.
      if (await hasSegmentAfter(this.store.kv, tenant, seq)) return true;
      await this.#clearPending(tx, goal);
      return false;
    });
  }

  #moveTo(tx: Tx, tenant: Tenant, to: z.infer<typeof Cursor>): void {
    if (this.rules.place === undefined) tx.put(cursors, tenant, to);
  }

  /** Deletes the pending key, unless it was set again for events that this pass did not see. */
  async #clearPending(tx: Tx, goal: Goal): Promise<void> {
    if (typeof goal === "number") return;
    const { key, versionstamp } = goal;
    const now = await this.store.kv.get(key);
    if (now.versionstamp !== versionstamp) {
      this.#again ||= !this.#mayLeave;
      return;
    }
    tx.check(key, versionstamp);
    tx.stage(deleteKey(key));
  }
}
