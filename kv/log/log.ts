import { deleteKey, type Mutation, setKey } from "../store/change.ts";
import { type Tenant, tenantKey } from "../store/collection.ts";
import { InlineSequencing } from "./inline.ts";
import {
  eventsOf,
  nameOf,
  newestRow,
  partsOf,
  type Plan,
  planSequencing,
  PROGRESS,
  type Progress,
  type SegmentPart,
  type Sequenced,
  SEQUENCING_LIMITS,
  type TenantEvents,
} from "./sequencing.ts";
import { FOLLOWERS_MAX } from "../engine/engine_limits.ts";
import type { Line } from "./line.ts";
import { setPendingAll } from "./pending.ts";
import { PULSE_KEYS, pulseOf, SHARING } from "./pulses.ts";
import { RecentMap } from "../store/recent.ts";
import {
  lastNumber,
  oldestSegment,
  readAfter,
  readBefore,
  RowReader,
  segmentsBefore,
  setSegment,
} from "./segments.ts";
import type { Store } from "../store/store.ts";
import type { Reader } from "../store/reader.ts";
import type { Tx } from "../store/tx.ts";

export type { Sequenced };

/** Reads each tenant's log from its own position. */
export interface Follower {
  readonly name: string;
  readonly wants: (type: string, tenant: Tenant) => boolean;
  /** True when it can wait for SEQUENCE_LAZY_MS. */
  readonly lazy?: boolean;
  /**
   * Its position in a tenant's log, when its own records hold it; without this a cursor is stored. Two steps
   * may see the same position, so a step reads it again in its transaction.
   */
  readonly place?: (db: Reader, tenant: Tenant) => Promise<number>;
}

/** One emptying of the outbox. */
interface Run {
  /**
   * Set when another process took a batch first: the newest row of the outbox at that time. Later rows are for later
   * runs, so that a process that is always slower than others ends its runs nevertheless.
   */
  upTo: string | null;
}

/** How long events that only lazy followers want may wait, so that many share one batch. */
export const SEQUENCE_LAZY_MS = 750;
/** How long other events may wait. */
const SEQUENCE_SOON_MS = 2;
const HEADS_MAX = 20_000;

/**
 * The event log. Each commit leaves its events in the outbox, ordered by versionstamp. Sequencing gives them
 * numbers and moves them into segments by tenant, in atomics that depend on the oldest outbox row and on the
 * batch's progress, so two processes never take the same events. A sole writer sequences a commit inline
 * when its events suffice for a segment.
 */
export class EventLog {
  /** The current run, which never rejects. */
  #running: Promise<void> = Promise.resolve();
  #next: Promise<void> | null = null;
  #cancel: (() => void) | null = null;
  #dueMs = Infinity;
  #stopped = false;
  /** The newest number of each tenant's log. Only a sole writer remembers it. */
  #heads = new RecentMap<number>(HEADS_MAX);
  /** Events of an atomic whose outcome is unknown. The next run reads the log to find out. */
  #uncertain: TenantEvents[] = [];
  readonly #inline: InlineSequencing;
  readonly #followers: Follower[] = [];
  readonly #drainListeners: (() => void)[] = [];
  readonly #pulseListeners: ((of: (tenant: Tenant) => boolean) => void)[] = [];
  readonly #watchers: Follower["wants"][] = [];
  readonly #listeners = new Set<(tenant: Tenant, events: readonly Sequenced[]) => void>();

  constructor(
    private readonly store: Store,
    private readonly onError: (error: unknown) => void,
    private readonly limits = SEQUENCING_LIMITS,
  ) {
    this.#inline = new InlineSequencing({
      head: (owner) => this.#heads.get(owner),
      wanting: (types, tenant) => {
        const wanted = [...types];
        return this.#followers.filter((f) => wanted.some((type) => f.wants(type, tenant)))
          .map((f) => f.name);
      },
      sequenced: (batches, certain) => this.#inlineSequenced(batches, certain),
    }, limits);
    store.connectLog({
      sequence: (lines, capacity) => this.#inline.sequence(lines, capacity),
      waiting: (lines, versionstamp) => this.#waiting(lines, versionstamp),
    });
  }

  /**
   * Registers a follower. Sequencing then makes the tenants pending whose log has events for it.
   * @throws {RangeError} beyond FOLLOWERS_MAX
   */
  follow(follower: Follower): void {
    if (this.#followers.length === FOLLOWERS_MAX) {
      throw new RangeError("the log has too many followers");
    }
    this.#followers.push(follower);
  }

  /** The registered followers. */
  get followers(): readonly Follower[] {
    return this.#followers;
  }

  /** Makes the events that `wants` accepts be sequenced within SEQUENCE_SOON_MS. */
  watch(wants: Follower["wants"]): void {
    this.#watchers.push(wants);
  }

  /** Calls `listener` with each tenant's new events, in order. Returns a function that removes it. */
  onSequenced(listener: (tenant: Tenant, events: readonly Sequenced[]) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Sequences what an earlier process left. Call it when all followers are registered. */
  wake(): void {
    this.#scheduleWithin(0);
  }

  /**
   * Calls `listener` when other instances may have sequenced events of the tenants that `of` accepts. Each pulse always
   * passes the same function.
   */
  onPulse(listener: (of: (tenant: Tenant) => boolean) => void): void {
    this.#pulseListeners.push(listener);
  }

  /** A key of PULSE_KEYS was set. */
  pulsed(pulse: number): void {
    for (const listener of this.#pulseListeners) listener(SHARING[pulse]!);
  }

  /** Calls `listener` after each run, whether it emptied the outbox or failed. */
  onDrained(listener: () => void): void {
    this.#drainListeners.push(listener);
  }

  /** Resolves when every event committed before the call has its number. */
  flush(): Promise<void> {
    return this.#sequenceAll();
  }

  /** The number of the newest event, 0 when there is none. */
  async head(tenant: Tenant): Promise<number> {
    return this.#heads.get(tenantKey(tenant)) ?? await lastNumber(this.store.kv, tenant);
  }

  /** Events with numbers above `after`, in order, at most `limit`. */
  read(tenant: Tenant, after: number, limit: number): Promise<Sequenced[]> {
    return readAfter(this.store.kv, tenant, after, limit);
  }

  /** Reads many events in order, each segment once. */
  reader(tenant: Tenant): RowReader {
    return new RowReader(this.store.kv, tenant);
  }

  /** Events with numbers below `before`, newest first, at most `limit`. */
  readBack(tenant: Tenant, before: number, limit: number): Promise<Sequenced[]> {
    return readBefore(this.store.kv, tenant, before, limit);
  }

  /** Events with numbers below `before`, newest first, one segment at a time. */
  backwards(tenant: Tenant, before: number): AsyncGenerator<Sequenced[]> {
    return segmentsBefore(this.store.kv, tenant, before);
  }

  /** The oldest segment and a function that deletes it, or null when it is the only one. */
  oldest(tenant: Tenant): ReturnType<typeof oldestSegment> {
    return oldestSegment(this.store.kv, tenant);
  }

  /** Sequences what is in the outbox and stops. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#cancel?.();
    await this.flush();
  }

  /** Schedules a run for lines that are in the outbox, or may be. */
  #waiting(lines: readonly Line[], versionstamp: string | null): void {
    this.#inline.waiting(lines, versionstamp);
    const soon = lines.some(({ type, tenant }) =>
      this.#followers.some((f) => !f.lazy && f.wants(type, tenant)) ||
      this.#watchers.some((wants) => wants(type, tenant))
    );
    this.#scheduleWithin(soon ? SEQUENCE_SOON_MS : SEQUENCE_LAZY_MS);
  }

  /** Handles events of an inline commit; the run that follows wakes lazy followers. */
  #inlineSequenced(batches: readonly TenantEvents[], certain: boolean): void {
    if (certain) this.#notify(batches);
    else this.#markUncertain(batches);
    this.#scheduleWithin(SEQUENCE_LAZY_MS);
  }

  #markUncertain(batches: readonly TenantEvents[]): void {
    this.#heads = new RecentMap(HEADS_MAX);
    this.#uncertain = [...batches];
  }

  #scheduleWithin(ms: number): void {
    if (this.#stopped) return;
    const dueMs = this.store.clock.now() + ms;
    if (this.#cancel !== null) {
      if (this.#dueMs <= dueMs) return;
      this.#cancel();
    }
    this.#dueMs = dueMs;
    this.#cancel = this.store.clock.after(ms, () => {
      this.#cancel = null;
      this.#sequenceAll().catch((error) => {
        this.onError(error);
        this.#scheduleWithin(SEQUENCE_LAZY_MS);
      });
    });
  }

  /** Empties the outbox. The current run may have read it already, so later callers share the next run. */
  #sequenceAll(): Promise<void> {
    return this.#next ??= this.#running.then(() => {
      this.#next = null;
      const run = this.#run();
      this.#running = run.catch(() => {});
      return run;
    });
  }

  async #run(): Promise<void> {
    const run: Run = { upTo: null };
    try {
      while (await this.#sequenceBatch(run));
    } finally {
      for (const listener of this.#drainListeners) listener();
    }
  }

  /** Moves one batch from the outbox into the log. Returns true when the run has to go on. */
  async #sequenceBatch(run: Run): Promise<boolean> {
    if (await this.#inline.nothingWaits()) return false;
    await this.#inline.pause();
    await this.#resolveUncertain();
    const plan = await planSequencing(
      this.store.kv,
      (type, tenant) => this.#followers.filter((f) => f.wants(type, tenant)).map((f) => f.name),
      this.limits,
    );
    if (plan === null) {
      this.#resume("");
      return false;
    }
    const last = nameOf(plan.rows.at(-1)!);
    if (run.upTo !== null && nameOf(plan.first.key) > run.upTo) return false;
    let { done, begun: at } = plan;
    const parts = [...partsOf(plan, this.limits)];
    for (const part of parts) {
      for (const { lines } of part) done += lines.length;
      const rest = part === parts.at(-1) ? null : { last, done };
      at = await this.#commitPart(plan, part, at, rest);
      if (at !== null) continue;
      // Another process took these events, and may take all those that follow.
      run.upTo ??= plan.more ? await newestRow(this.store.kv) : last;
      return true;
    }
    if (!plan.more) this.#resume(last);
    return plan.more;
  }

  #resume(last: string): void {
    if (this.store.sole && !this.#inline.resume(last)) this.#scheduleWithin(SEQUENCE_SOON_MS);
  }

  /**
   * Commits one atomic of a batch: the next segments with the batch's progress or, at its end, without its
   * rows. Returns its versionstamp, or null when another process was first.
   */
  async #commitPart(
    { first, rows }: Plan,
    part: readonly SegmentPart[],
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
        if (!this.store.sole) tx.stage(...pulsesOf(sequenced));
        if (rest !== null) tx.stage(setKey(PROGRESS, rest, 64));
        else {
          tx.stage(...rows.map(deleteKey));
          if (begun !== null) tx.stage(deleteKey(PROGRESS));
        }
        tx.afterCommit((versionstamp) => at = versionstamp);
      });
    } catch (error) {
      this.#markUncertain(sequenced);
      throw error;
    }
    if (tries > 1) return null;
    this.#notify(sequenced);
    return at;
  }

  /** Notifies listeners of uncertain events that are in the log with the numbers they got here. */
  async #resolveUncertain(): Promise<void> {
    const uncertain = this.#uncertain;
    if (uncertain.length === 0) return;
    const made = await Promise.all(uncertain.map((each) => this.#has(each)));
    this.#uncertain = [];
    this.#notify(uncertain.filter((_, at) => made[at]));
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

  /** Stages the next segment of a tenant's log. */
  async #extend(
    tx: Tx,
    { tenant, lines, followers }: SegmentPart,
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

/** Sets the pulses of some tenants. */
const pulsesOf = (sequenced: readonly TenantEvents[]): Mutation[] =>
  [...new Set(sequenced.map(({ tenant }) => pulseOf(tenant)))].map((pulse) =>
    setKey(PULSE_KEYS[pulse]!, true, 16)
  );
