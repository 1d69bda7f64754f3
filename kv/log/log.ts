import { deleteKey, setKey } from "../store/change.ts";
import { type Tenant, tenantKey } from "../store/collection.ts";
import { DirectNumbering } from "./direct.ts";
import type { TenantEvents } from "./fold.ts";
import {
  eventsOf,
  FOLD_LIMITS,
  partsOf,
  type Piece,
  type Plan,
  planFold,
  PROGRESS,
  type Progress,
  type Sequenced,
} from "./fold.ts";
import { FOLLOWERS_MAX } from "../store/limits.ts";
import type { Line } from "./line.ts";
import { setPendingAll } from "./pending.ts";
import { RecentMap } from "../store/recent.ts";
import {
  lastNumber,
  oldestSegment,
  readAfter,
  readBefore,
  segmentsBefore,
  setSegment,
} from "./segments.ts";
import type { Store } from "../store/store.ts";
import type { Reader } from "../store/reader.ts";
import type { Tx } from "../store/tx.ts";

export type { Sequenced };

/** Somebody who follows the log from a cursor of their own. */
export interface Follower {
  readonly name: string;
  readonly wants: (type: string, tenant: Tenant) => boolean;
  /** True for one that can wait as long as plain audit lines do. */
  readonly lazy?: boolean;
  /**
   * How far it has come in a tenant's log, when its own records say so; else a cursor is kept for it. Two
   * steps may see one place, so a step reads it again in its transaction.
   */
  readonly place?: (db: Reader, tenant: Tenant) => Promise<number>;
}

/** How long plain audit lines may wait, so that many of them share one fold. */
export const FOLD_LAZY_MS = 750;
/** How long an event that somebody follows may wait. */
const FOLD_SOON_MS = 2;
const HEADS_MAX = 20_000;

/**
 * The one log. Each commit leaves its events in the outbox, ordered by versionstamp; the fold gives
 * them sequence numbers and moves them into per-tenant segments, in atomics that depend on the oldest
 * outbox row and on how far the fold has come, so two sequencers can never take the same events. A sole
 * sequencer numbers what is enough for a segment in its own commit, and then there is nothing to fold.
 */
export class EventLog {
  /** The run under way; it never rejects. */
  #folding: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #cancel: (() => void) | null = null;
  #dueMs = Infinity;
  #stopped = false;
  /** Where tenants' logs end. Only a sole sequencer may remember: nobody else makes them longer. */
  #heads = new RecentMap<number>(HEADS_MAX);
  /** Events that got numbers in an atomic whose outcome is unknown; the log tells the next fold whether it was made. */
  #doubtful: TenantEvents[] = [];
  readonly #direct: DirectNumbering;
  readonly #followers: Follower[] = [];
  readonly #rested: (() => void)[] = [];
  readonly #watchers: Follower["wants"][] = [];
  readonly #listeners = new Set<(tenant: Tenant, events: readonly Sequenced[]) => void>();

  constructor(
    private readonly store: Store,
    private readonly onError: (error: unknown) => void,
    private readonly limits = FOLD_LIMITS,
  ) {
    this.#direct = new DirectNumbering({
      head: (owner) => this.#heads.get(owner),
      wanting: (types, tenant) => {
        const wanted = [...types];
        return this.#followers.filter((f) => wanted.some((type) => f.wants(type, tenant)))
          .map((f) => f.name);
      },
      numbered: (batches, certain) => this.#numbered(batches, certain),
    }, limits);
    store.logsTo({
      number: (lines, room) => this.#direct.number(lines, room),
      waiting: (lines, versionstamp) => this.#waiting(lines, versionstamp),
    });
  }

  /**
   * Registers a follower; what numbers events then marks the tenants whose log has something for it.
   * @throws {RangeError} beyond FOLLOWERS_MAX
   */
  follow(follower: Follower): void {
    if (this.#followers.length === FOLLOWERS_MAX) throw new RangeError("too many followers");
    this.#followers.push(follower);
  }

  /** Who follows the log from a position of their own. */
  get followers(): readonly Follower[] {
    return this.#followers;
  }

  /** Somebody looks on as events come: those that they want get their numbers soon. */
  watch(wants: Follower["wants"]): void {
    this.#watchers.push(wants);
  }

  /** Calls `listener` with each tenant's new events, in order, once they have their numbers. */
  onSequenced(listener: (tenant: Tenant, events: readonly Sequenced[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Numbers what an earlier process has left, once all followers are there. */
  wake(): void {
    this.#foldWithin(0);
  }

  /** Calls `listener` when the outbox is empty, or could not be emptied now. */
  onRest(listener: () => void): void {
    this.#rested.push(listener);
  }

  /** Resolves when every event that was committed before the call has its number. */
  flush(): Promise<void> {
    return this.#foldAll();
  }

  /** The number of the newest event, 0 when there is none. */
  async head(tenant: Tenant): Promise<number> {
    return this.#heads.get(tenantKey(tenant)) ?? await lastNumber(this.store.kv, tenant);
  }

  /** Events with numbers above `after`, in order, at most `limit`. */
  read(tenant: Tenant, after: number, limit: number): Promise<Sequenced[]> {
    return readAfter(this.store.kv, tenant, after, limit);
  }

  /** Events with numbers below `before`, newest first, at most `limit`. */
  readBack(tenant: Tenant, before: number, limit: number): Promise<Sequenced[]> {
    return readBefore(this.store.kv, tenant, before, limit);
  }

  /** Events with numbers below `before`, newest first, a segment at a time: for as far as somebody looks. */
  backwards(tenant: Tenant, before: number): AsyncGenerator<Sequenced[]> {
    return segmentsBefore(this.store.kv, tenant, before);
  }

  /** The oldest segment that is kept, and what removes it; null when it is the only one. */
  oldest(tenant: Tenant): ReturnType<typeof oldestSegment> {
    return oldestSegment(this.store.kv, tenant);
  }

  /** Sequences what is left and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.flush();
  }

  /** Lines are in the outbox, or may be. */
  #waiting(lines: readonly Line[], versionstamp: string | null): void {
    this.#direct.waiting(lines, versionstamp);
    const soon = lines.some(({ type, tenant }) =>
      this.#followers.some((f) => !f.lazy && f.wants(type, tenant)) ||
      this.#watchers.some((wants) => wants(type, tenant))
    );
    this.#foldWithin(soon ? FOLD_SOON_MS : FOLD_LAZY_MS);
  }

  /** Events got their numbers in their own commit, or may have; who is lazy hears of a rest after it. */
  #numbered(batches: readonly TenantEvents[], certain: boolean): void {
    if (certain) this.#notify(batches);
    else this.#doubt(batches);
    this.#foldWithin(FOLD_LAZY_MS);
  }

  #doubt(batches: readonly TenantEvents[]): void {
    this.#heads = new RecentMap(HEADS_MAX);
    this.#doubtful = [...batches];
  }

  #foldWithin(ms: number): void {
    if (this.#stopped) return;
    const dueMs = this.store.clock.now() + ms;
    if (this.#cancel !== null) {
      if (this.#dueMs <= dueMs) return;
      this.#cancel();
    }
    this.#dueMs = dueMs;
    this.#cancel = this.store.clock.after(ms, () => {
      this.#cancel = null;
      this.#foldAll().catch((error) => {
        this.onError(error);
        this.#foldWithin(FOLD_LAZY_MS);
      });
    });
  }

  /** Folds what is in the outbox. A run under way may have looked already: who comes later shares the next. */
  #foldAll(): Promise<void> {
    return this.#next ??= this.#folding.then(() => {
      this.#next = null;
      const run = this.#run();
      this.#folding = run.catch(() => {});
      return run;
    });
  }

  async #run(): Promise<void> {
    try {
      while (await this.#fold());
    } finally {
      for (const rested of this.#rested) rested();
    }
  }

  /** Moves events from the outbox into the log. True when there may be more of them. */
  async #fold(): Promise<boolean> {
    if (await this.#direct.nothingWaits()) return false;
    await this.#direct.pause();
    await this.#resolveDoubt();
    const plan = await planFold(
      this.store.kv,
      (type, tenant) => this.#followers.filter((f) => f.wants(type, tenant)).map((f) => f.name),
      this.limits,
    );
    if (plan === null) {
      this.#resume("");
      return false;
    }
    let { done, begun: at } = plan;
    const parts = [...partsOf(plan, this.limits)];
    for (const part of parts) {
      for (const { lines } of part) done += lines.length;
      const rest = part === parts.at(-1)
        ? null
        : { last: plan.rows.at(-1)!.at(-1) as string, done };
      at = await this.#move(plan, part, at, rest);
      // Somebody else was first.
      if (at === null) return true;
    }
    if (!plan.more) this.#resume(plan.rows.at(-1)!.at(-1) as string);
    return plan.more;
  }

  #resume(last: string): void {
    if (this.store.sole && !this.#direct.resume(last)) this.#foldWithin(FOLD_SOON_MS);
  }

  /**
   * One atomic of a fold: the next segments, and how far it has come, or the rows when that is all. Answers
   * its versionstamp, null when it was not made.
   */
  async #move(
    { first, rows }: Plan,
    part: readonly Piece[],
    begun: string | null,
    rest: Progress | null,
  ): Promise<string | null> {
    const sequenced: TenantEvents[] = [];
    let tries = 0, at: string | null = null;
    try {
      await this.store.transact(async (tx) => {
        if (++tries > 1) return;
        tx.check(first.key, first.versionstamp);
        tx.check(PROGRESS, begun);
        const pending = new Map<string, TenantEvents[]>();
        for (const piece of part) await this.#extend(tx, piece, sequenced, pending);
        for (const [name, batches] of pending) setPendingAll(tx, name, batches);
        if (rest !== null) tx.stage(setKey(PROGRESS, rest, 64));
        else {
          tx.stage(...rows.map(deleteKey));
          if (begun !== null) tx.stage(deleteKey(PROGRESS));
        }
        tx.afterCommit((versionstamp) => at = versionstamp);
      });
    } catch (error) {
      this.#doubt(sequenced);
      throw error;
    }
    if (tries > 1) return null;
    this.#notify(sequenced);
    return at;
  }

  /** Tells of what got its numbers after all, and not of what another fold, which was first, gave others. */
  async #resolveDoubt(): Promise<void> {
    const doubtful = this.#doubtful;
    if (doubtful.length === 0) return;
    const made = await Promise.all(doubtful.map((each) => this.#has(each)));
    this.#doubtful = [];
    this.#notify(doubtful.filter((_, at) => made[at]));
  }

  async #has({ tenant, events }: TenantEvents): Promise<boolean> {
    const found = await this.read(tenant, events[0]!.seq - 1, events.length);
    return events.every(({ seq, json }, at) => found[at]?.seq === seq && found[at].json === json);
  }

  #notify(batches: readonly TenantEvents[]): void {
    for (const { tenant, events } of batches) {
      if (this.store.sole) this.#heads.set(tenantKey(tenant), events.at(-1)!.seq);
      for (const listener of this.#listeners) {
        try {
          listener(tenant, events);
        } catch (error) {
          this.onError(error);
        }
      }
    }
  }

  /** Stages the next segment of a tenant. */
  async #extend(
    tx: Tx,
    { tenant, lines, followers }: Piece,
    sequenced: TenantEvents[],
    pending: Map<string, TenantEvents[]>,
  ): Promise<void> {
    const before = sequenced.at(-1);
    const again = before?.tenant === tenant;
    const head = again ? before.events.at(-1)!.seq : await this.head(tenant);
    const events = eventsOf(lines, head + 1);
    tx.stage(setSegment(tenant, head + 1, lines.join("\n")));
    if (again) {
      before.events.push(...events);
      return;
    }
    const batch = { tenant, events };
    sequenced.push(batch);
    for (const name of followers) {
      const others = pending.get(name);
      if (others === undefined) pending.set(name, [batch]);
      else others.push(batch);
    }
  }
}
