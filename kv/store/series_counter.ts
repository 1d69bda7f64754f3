import { type Cancel, isInWindow } from "./clock.ts";
import { DAY_MS, HOUR_MS } from "./durations.ts";
import { dropDays, dropLatest, putDay, readDays, readLatest, type Series } from "./series.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

/** With the commit that follows, a crash loses less than one second's counts. */
const FLUSH_MS = 750;
/** Values of one commit: a shared store takes ten checks, and ten values of 60 KiB fit an atomic. */
const WRITES_MAX = 10;

/** How one kind of series counts a day: `D` in memory, `V` in the store. */
export interface SeriesKind<D, V> {
  readonly emptyDay: () => D;
  /** The day as it is stored, and about how large that is. It may share its counts with the day. */
  readonly encode: (day: D) => { readonly value: V; readonly bytes: number };
  /** How many names a day holds, for the bound on memory. */
  readonly namesOf: (day: D) => number;
  /** False once the series was deleted: nothing is written then. Its reads become checks. */
  readonly exists?: (tx: Tx, series: Series) => Promise<boolean>;
  /** True to store when each series was last counted. */
  readonly keepsLatest?: boolean;
}

/** What stays in memory after it was written, so that a day stays one value. */
export interface SeriesMemory {
  readonly series: number;
  readonly names: number;
}

/** What this process counts of one series and day, under a writer's name of its own. */
interface Count<D> {
  readonly key: string;
  readonly series: Series;
  readonly writer: string;
  readonly dayMs: number;
  readonly day: D;
  /** The hour of the day, and its beginning. */
  hour: number;
  hourMs: number;
  latestMs: number;
  /** True while the store lacks some of it. */
  dirty: boolean;
}

/**
 * Counts series as things happen: in memory, and written within a second and at `stop`. One count costs a
 * look-up and an increment.
 */
export class SeriesCounter<D, V> {
  /** The day that is being counted, by key. */
  readonly #current = new Map<string, Count<D>>();
  #dirty: Count<D>[] = [];
  /** Past days that may not be written yet. */
  readonly #ended = new Set<Count<D>>();
  /** How many counts the current flush writes. */
  #writing = 0;
  #writers = 0;
  #timer: Cancel | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    /** Names this process among all that ever write to the store. */
    private readonly instance: string,
    private readonly onError: (error: unknown) => void,
    private readonly kind: SeriesKind<D, V>,
    private readonly max: SeriesMemory,
  ) {}

  /** The day and hour in which something that happens now counts; `key` names the series in memory. */
  now(key: string, seriesOf: () => Series): { readonly day: D; readonly hour: number } {
    const nowMs = this.store.clock.now();
    let count = this.#current.get(key);
    if (count === undefined || !isInWindow(count.hourMs, HOUR_MS, nowMs)) {
      count = this.#turn(key, count, seriesOf, nowMs);
    }
    count.latestMs = nowMs;
    if (!count.dirty) this.#mark(count);
    return count;
  }

  /** Each writer's days from `fromMs` up to `toMs`, with what is not written here yet. */
  async days(
    key: string,
    series: Series,
    fromMs: number,
    toMs: number,
  ): Promise<{ readonly dayMs: number; readonly value: V }[]> {
    // Read before the store: counts written meanwhile are in both, and memory is never older.
    const here = [this.#current.get(key), ...this.#ended]
      .filter((count) => count !== undefined)
      .filter((count) => count.key === key && count.dayMs >= fromMs && count.dayMs < toMs);
    const days = new Map<string, { dayMs: number; value: V }>();
    const stored = readDays<V>(this.store, series, fromMs, toMs);
    for await (const { dayMs, writer, value } of stored) days.set(writer, { dayMs, value });
    for (const { dayMs, writer, day } of here) {
      days.set(writer, { dayMs, value: this.kind.encode(day).value });
    }
    return [...days.values()];
  }

  /** When a series was last counted, in ms, or null. */
  async latest(key: string, series: Series): Promise<number | null> {
    const here = this.#current.get(key)?.latestMs;
    const stored = await readLatest(this.store, series);
    return here === undefined ? stored : Math.max(here, stored ?? 0);
  }

  /** Deletes a series with the change of `tx`. */
  delete(tx: Tx, key: string, series: Series): void {
    dropLatest(tx, series);
    tx.afterCommit(() => {
      this.#current.delete(key);
      dropDays(this.store, series).catch(this.onError);
    });
  }

  /** How many series have counts that a crash would lose. */
  get unwritten(): number {
    return this.#dirty.length + this.#writing;
  }

  /** Resolves when everything counted before the call is in the store. */
  flush(): Promise<void> {
    return this.#flushing = this.#flushing.catch(() => {}).then(() => this.#write());
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    this.#timer?.();
    await this.flush();
  }

  #mark(count: Count<D>): void {
    count.dirty = true;
    this.#dirty.push(count);
    this.#timer ??= this.store.clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.onError);
    });
  }

  /** Moves on to the hour of `nowMs`, and to a new day under a new writer's name when it is another day. */
  #turn(
    key: string,
    before: Count<D> | undefined,
    seriesOf: () => Series,
    nowMs: number,
  ): Count<D> {
    const dayMs = Math.floor(nowMs / DAY_MS) * DAY_MS;
    const hour = Math.floor((nowMs - dayMs) / HOUR_MS);
    const hourMs = dayMs + hour * HOUR_MS;
    if (before?.dayMs === dayMs) return Object.assign(before, { hour, hourMs });
    if (before !== undefined) this.#ended.add(before);
    const count = {
      key,
      series: seriesOf(),
      writer: `${this.instance}.${++this.#writers}`,
      dayMs,
      day: this.kind.emptyDay(),
      hour,
      hourMs,
      latestMs: nowMs,
      dirty: false,
    };
    this.#current.set(key, count);
    return count;
  }

  async #write(): Promise<void> {
    const due = this.#dirty;
    this.#dirty = [];
    this.#writing = due.length;
    for (const count of due) count.dirty = false;
    let at = 0;
    try {
      for (; at < due.length; at += WRITES_MAX) {
        await this.#writeSome(due.slice(at, at + WRITES_MAX));
      }
    } catch (error) {
      // Values are written whole again, so it does not matter whether this commit succeeded.
      for (const count of due.slice(at)) if (!count.dirty) this.#mark(count);
      throw error;
    } finally {
      this.#writing = 0;
      this.#evict();
    }
  }

  async #writeSome(some: readonly Count<D>[]): Promise<void> {
    const deleted = await this.store.transact(async (tx) => {
      // This read becomes a check, so the counts of a deleted series do not come back.
      const exist = await Promise.all(
        some.map(({ series }) => this.kind.exists?.(tx, series) ?? true),
      );
      for (const { series, dayMs, writer, day, latestMs } of some.filter((_, at) => exist[at])) {
        const { value, bytes } = this.kind.encode(day);
        const atMs = this.kind.keepsLatest ? latestMs : null;
        putDay(tx, series, { dayMs, writer, value }, { bytes, atMs });
      }
      return some.filter((_, at) => !exist[at]);
    });
    for (const { key } of deleted) this.#current.delete(key);
  }

  /** Bounds memory. A series that is counted again later gets a new writer's name. */
  #evict(): void {
    for (const count of this.#ended) if (!count.dirty) this.#ended.delete(count);
    const todayMs = Math.floor(this.store.clock.now() / DAY_MS) * DAY_MS;
    let names = 0;
    for (const { day } of this.#current.values()) names += this.kind.namesOf(day);
    for (const [key, { dirty, dayMs, day }] of this.#current) {
      const full = this.#current.size > this.max.series || names > this.max.names;
      if (dirty || !full && dayMs >= todayMs) continue;
      this.#current.delete(key);
      names -= this.kind.namesOf(day);
    }
  }
}
