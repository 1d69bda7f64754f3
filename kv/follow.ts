import { z } from "zod";
import { collection, slotOf, type Tenant } from "./collection.ts";
import { type EventLog, markPrefix, type Sequenced } from "./log.ts";
import { HeldEvents } from "./held.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

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

export interface FollowerRules {
  readonly name: string;
  readonly wants: (type: string, tenant: Tenant) => boolean;
  /** True for one whose events need not be numbered at once. */
  readonly lazy?: boolean;
  /** How many events a step gets at most; 64 unless said. */
  readonly eventsPerStep?: number;
  /** How many new events may be held in memory until their step, so that they are not read; none unless said. */
  readonly holdsEvents?: number;
  /** How many tenants are served at once, so that they share commits; 1 unless said. */
  readonly tenantsAtOnce?: number;
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
  const passed = await Promise.all(log.followerNames.map(async (name) => {
    const mark = await store.kv.get([...markPrefix(name), tenant.org, tenant.space]);
    if (mark.versionstamp === null) return Infinity;
    return (await store.get(cursors, tenant, name))?.seq ?? 0;
  }));
  return Math.min(...passed);
}

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
  /** New events as the fold announced them, by tenant. */
  readonly #held: HeldEvents;

  constructor(
    private readonly store: Store,
    private readonly log: EventLog,
    private readonly rules: FollowerRules,
    private readonly onError: (error: unknown) => void,
  ) {
    log.follow(rules);
    this.#held = new HeldEvents(rules.holdsEvents ?? 0);
    log.onSequenced((tenant, events) => {
      this.#held.add(tenant, events);
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
    const mark = await this.store.kv.get([
      ...markPrefix(this.rules.name),
      tenant.org,
      tenant.space,
    ]);
    if (mark.versionstamp === null) return;
    while (await this.#step(tenant, mark));
  }

  /** Moves a tenant's position to the end of its log, in the transaction. */
  async skip(tx: Tx, tenant: Tenant): Promise<void> {
    const id = this.rules.name;
    const head = await this.log.head(tenant);
    const at = await tx.get(cursors, tenant, id);
    if ((at?.seq ?? 0) < head) tx.put(cursors, tenant, { id, seq: head, part: "" });
  }

  /** Resolves when nothing is marked. */
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
    const atOnce = this.rules.tenantsAtOnce ?? 1;
    let serving: Promise<void>[] = [];
    for await (const mark of this.store.kv.list({ prefix: markPrefix(this.rules.name) })) {
      serving.push(this.#serve(mark));
      if (serving.length < atOnce) continue;
      await Promise.all(serving);
      serving = [];
    }
    await Promise.all(serving);
  }

  /** One tenant's turn; it never rejects. */
  async #serve(mark: Deno.KvEntry<unknown>): Promise<void> {
    const [org, space] = mark.key.slice(-2) as [string, Tenant["space"]];
    try {
      let steps = 0;
      while (await this.#step({ org, space }, mark)) {
        if (++steps < STEPS_PER_PASS) continue;
        this.#again = true;
        break;
      }
    } catch (error) {
      // One tenant's trouble must not hold up the others; its mark stays.
      this.#tryLater(error);
    }
  }

  #tryLater(error: unknown): void {
    this.onError(error);
    if (this.store.closing || this.#retrying) return;
    this.#retrying = true;
    this.store.clock.after(RETRY_MS, () => {
      this.#retrying = false;
      if (!this.store.closing) this.wake();
    });
  }

  /** True while there is more to do for the tenant. */
  async #step(tenant: Tenant, mark: Deno.KvEntry<unknown>): Promise<boolean> {
    const head = await this.log.head(tenant);
    const cares = await this.rules.cares(tenant);
    return await this.store.transact(async (tx) => {
      const id = this.rules.name;
      const at = await tx.get(cursors, tenant, id) ?? { id, seq: 0, part: "" };
      const limit = this.rules.eventsPerStep ?? EVENTS_PER_STEP;
      const held = this.#held.after(tenant, at.seq, limit);
      const events = cares ? held ?? await this.log.read(tenant, at.seq, limit) : [];
      if (events.length === 0) {
        if (at.seq < head) tx.put(cursors, tenant, { id, seq: head, part: "" });
        await this.#unmark(tx, mark);
        return false;
      }
      const { done, part } = await this.rules.step(tx, tenant, events, at.part);
      if (done === 0 && part <= at.part) throw new Error(`${id} makes no progress at ${at.seq}`);
      // Not counted on from the old position: retention may have left a gap after it.
      const seq = done === 0 ? at.seq : events[done - 1]!.seq;
      tx.put(cursors, tenant, { id, seq, part });
      tx.afterCommit(() => this.#held.drop(tenant, seq));
      // Held events are new, so most likely the last ones; then the mark goes in the same commit.
      if (held === null || part !== "" || done < events.length || seq < head) return true;
      // What a fold adds begins a segment, which may be there before its head is known here.
      if (await this.log.hasSegmentAfter(tenant, seq)) return true;
      await this.#unmark(tx, mark);
      return false;
    });
  }

  /** Takes the mark away unless the fold has set it again, for events that this pass did not see. */
  async #unmark(tx: Tx, { key, versionstamp }: Deno.KvEntry<unknown>): Promise<void> {
    const now = await this.store.kv.get(key);
    if (now.versionstamp !== versionstamp) {
      this.#again = true;
      return;
    }
    tx.check(key, versionstamp);
    tx.stage({ kind: "delete", key, slot: slotOf(key) });
  }
}
