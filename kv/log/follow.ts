import { z } from "zod";
import { deleteKey } from "../store/change.ts";
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

const Cursor = z.strictObject({ id: z.string(), seq: z.int().min(0), part: z.string() });

/** How far each follower has come in a tenant's log. */
const cursors = collection({ name: "log_cursors", schema: Cursor, cached: 10_000 });

/** What a follower does with the next events; all of it commits together with its new position. */
export interface Step {
  /** How many of the events are done. */
  readonly done: number;
  /**
   * The last part of the event after those that is done already, when one event needs several commits;
   * empty for none. Parts are done in the order of their names.
   */
  readonly part: string;
}

export interface FollowerRules extends Follower {
  /** How many events a step gets at most; 64 unless said. */
  readonly eventsPerStep?: number;
  /** How many new events, of a KiB, may be buffered in memory until their step, so that they are not read; none unless said. */
  readonly bufferedEvents?: number;
  /** How many tenants are served at once, so that they share commits; 1 unless said. */
  readonly tenantsAtOnce?: number;
  /**
   * False while a tenant's next step had better wait, which keeps nobody else waiting; whoever says so wakes
   * the follower again. Always true unless said.
   */
  readonly ready?: (tenant: Tenant) => boolean;
  /** False when nothing of the tenant's log up to now matters, so that all of it may be passed over. */
  readonly cares: (tenant: Tenant) => Promise<boolean>;
  readonly step: (
    tx: Tx,
    tenant: Tenant,
    events: readonly Sequenced[],
    part: string,
  ) => Promise<Step>;
}

/** The last event of a tenant's log that every follower who wants any has passed; Infinity when nobody waits. */
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
  // Looked for last, because who is left of a group gets one of their own.
  return (await kv.get(pendingKey(name, tenant))).versionstamp !== null;
}

async function placeOf(
  db: Reader,
  { name: id, place }: Follower,
  tenant: Tenant,
): Promise<z.infer<typeof Cursor>> {
  if (place !== undefined) return { id, seq: await place(db, tenant), part: "" };
  return await db.get(cursors, tenant, id) ?? { id, seq: 0, part: "" };
}

/** The end of a tenant's turn: its mark goes when nothing is left, or an event has been reached. */
type Goal = Deno.KvEntry<unknown> | number;

const EVENTS_PER_STEP = 64;
/** Then the others get their turn, however long this tenant's backlog is. */
const STEPS_PER_PASS = 16;
/** So many events are not kept waiting for the end of a run of folds. */
const WAITING_MAX = 8_192;
/** How long trouble may pass before what it left is tried again. */
const RETRY_MS = 1_000;

/**
 * Follows every tenant's log from a stored position: what a step writes and how far it has come are one
 * commit, so no event is passed over or handled twice, whenever the process dies.
 */
export class LogFollower {
  #running: Promise<void> | null = null;
  #again = false;
  #retrying = false;
  /** Events that were announced since it was woken last. */
  #waiting = 0;
  /** New events as they were announced, by tenant. */
  readonly #buffer: EventBuffer;

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
      this.#waiting += events.length;
      if (!rules.lazy || this.#waiting >= WAITING_MAX) this.wake();
    });
    // What one run of folds brings is one step for each tenant.
    log.onRest(() => {
      if (this.#waiting > 0) this.wake();
    });
  }

  /** Handles whatever is marked; also called at the start, for what a crash left. */
  wake(): void {
    this.#waiting = 0;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Handles a tenant's events up to those that have their numbers now, whoever else is marked. */
  async catchUp(tenant: Tenant): Promise<void> {
    const head = await this.log.head(tenant);
    while (await this.#step(tenant, head));
  }

  /** Moves a tenant's position to the end of its log, in the transaction. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    const id = this.rules.name;
    const head = await this.log.head(tenant);
    const at = await tx.get(cursors, tenant, id);
    if ((at?.seq ?? 0) < head) tx.put(cursors, tenant, { id, seq: head, part: "" });
  }

  /** Resolves when nothing is being handled; of a lazy one something may be marked that it waits to be woken for. */
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

  /** Whoever has something left gets a mark of their own. */
  async #endGroup(key: Deno.KvKey, turns: readonly Promise<Tenant | null>[]): Promise<void> {
    const left = (await Promise.all(turns)).filter((tenant) => tenant !== null);
    await this.store.transact((tx) => {
      for (const tenant of left) tx.stage(setPending(this.rules.name, tenant));
      tx.stage(deleteKey(key));
    });
  }

  /** One tenant's turn; it never rejects, and answers the tenant when something is left. */
  async #serve(tenant: Tenant, goal: Goal): Promise<Tenant | null> {
    try {
      // What a lazy one is told while it works waits, marked, until it is woken for it.
      const last = this.#mayLeave ? await this.log.head(tenant) : Infinity;
      for (let steps = 0; steps < STEPS_PER_PASS; steps++) {
        if (this.rules.ready?.(tenant) === false) return tenant;
        if (!await this.#step(tenant, goal, last)) return null;
      }
      this.#again = true;
    } catch (error) {
      // One tenant's trouble must not hold up the others; its mark stays.
      this.#tryLater(error);
    }
    return tenant;
  }

  #tryLater(error: unknown): void {
    // What the end cuts off is marked, and is no trouble.
    if (this.store.closing) return;
    this.onError(error);
    if (this.#retrying) return;
    this.#retrying = true;
    this.store.clock.after(RETRY_MS, () => {
      this.#retrying = false;
      if (!this.store.closing) this.wake();
    });
  }

  /** Whether every event that is marked is told here too, and need not be looked for. */
  get #mayLeave(): boolean {
    return this.rules.lazy === true && this.store.sole;
  }

  /** True while there is more to do for the tenant, up to number `last` or somewhat beyond. */
  async #step(tenant: Tenant, goal: Goal, last = Infinity): Promise<boolean> {
    const head = Math.max(await this.log.head(tenant), typeof goal === "number" ? goal : 0);
    const cares = await this.rules.cares(tenant);
    return await this.store.transact(async (tx) => {
      // A follower's own records are read, and so checked, by its step: later, and they must fit together.
      const at = await placeOf(this.rules.place ? this.store : tx, this.rules, tenant);
      if (typeof goal === "number" && at.seq >= goal) return false;
      const limit = this.rules.eventsPerStep ?? EVENTS_PER_STEP;
      const buffered = this.#buffer.after(tenant, at.seq, limit);
      const events = cares ? buffered ?? await this.log.read(tenant, at.seq, limit) : [];
      if (events.length === 0) {
        if (at.seq < head) this.#moveTo(tx, tenant, head);
        await this.#clearPending(tx, goal);
        return false;
      }
      if (at.seq >= last && typeof goal !== "number") return false;
      const { done, part } = await this.rules.step(tx, tenant, events, at.part);
      if (done === 0 && part <= at.part) {
        throw new Error(`${this.rules.name} makes no progress at ${at.seq}`);
      }
      // Not counted on from the old position: retention may have left a gap after it.
      const seq = done === 0 ? at.seq : events[done - 1]!.seq;
      this.#moveTo(tx, tenant, seq, part);
      tx.afterCommit(() => this.#buffer.drop(tenant, seq));
      if (typeof goal === "number") return seq < goal;
      // Held events are new, so most likely the last ones; then the mark goes in the same commit.
      // The mark of a log that grows on changes before this commits, so a lazy one takes it away alone.
      if (buffered === null || part !== "" || done < events.length || seq < head) return true;
      if (this.#mayLeave) return true;
      // What a fold adds begins a segment, which may be there before its head is known here.
      if (await hasSegmentAfter(this.store.kv, tenant, seq)) return true;
      await this.#clearPending(tx, goal);
      return false;
    });
  }

  #moveTo(tx: Tx, tenant: Tenant, seq: number, part = ""): void {
    const { name: id, place } = this.rules;
    if (place === undefined) tx.put(cursors, tenant, { id, seq, part });
  }

  /** Takes the mark away unless the fold has set it again, for events that this pass did not see. */
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
