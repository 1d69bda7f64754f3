import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { putDay, readDays, type Series } from "../../kv/store/series.ts";
import type { Store } from "../../kv/store/store.ts";
import type { Cancel } from "../ports/ports.ts";
import { DAY_MS, HOUR_MS, HOURS, type Hours, isStillHour } from "../access/usage/day.ts";

/** With the commit that follows, what a crash can lose is less than a second's counts. */
const FLUSH_MS = 750;
/** Values of one commit: each may have 60 KiB, and an atomic takes 800. */
const AT_ONCE = 10;
/** Organizations whose day stays in memory after it was written, so that it stays one value. */
const KEPT_MAX = 2_000;
/** The rules of policies are people's own, so there may be any number: that many are named in one day. */
const DENIALS = "denials.";
const DENIALS_MAX = 150;
const NAME_BYTES = 260;
const REST_BYTES = 512;
/** Where those beyond that are counted. */
const OTHERS = `${DENIALS}others`;

/** Counts by name and hour of a day. */
export type NamedHours = ReadonlyMap<string, Hours>;

interface Counting {
  readonly tenant: Tenant;
  readonly writer: string;
  readonly dayMs: number;
  readonly names: Map<string, Hours>;
  /** How many of them are rules that denied. */
  denials: number;
  hour: number;
  hourEndsMs: number;
  dirty: boolean;
}

/**
 * Counts what happens by organization and for the whole installation, as it happens: in memory, and written
 * down within a second and when the relay stops. Only the live space is counted.
 */
export class Activity {
  readonly #counting = new Map<string, Counting>();
  #dirty = new Set<Counting>();
  #writing: readonly Counting[] = [];
  #writers = 0;
  #timer: Cancel | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly store: Store,
    private readonly instance: string,
    private readonly onError: (error: unknown) => void,
    /** Hears of what is counted one by one, which requests are not. */
    private readonly onCount: (name: string) => void,
  ) {}

  /** One more of a name such as `commands.succeeded`. */
  count(tenant: Tenant, name: string): void {
    if (tenant.space === "test") return;
    this.onCount(name);
    this.#addTo(tenant, name);
  }

  /** Counts an answered request. */
  request(tenant: Tenant, status: number): void {
    if (tenant.space === "test") return;
    this.#addTo(tenant, "requests.all");
    if (status >= 500) this.#addTo(tenant, "requests.server_errors");
    else if (status >= 400) this.#addTo(tenant, "requests.client_errors");
  }

  /** Each writer's days from `fromMs` up to `toMs`, with what is not written yet here. */
  async days(
    tenant: Tenant,
    fromMs: number,
    toMs: number,
  ): Promise<{ dayMs: number; names: NamedHours }[]> {
    // Looked at before the store: what is written meanwhile is in both, and here it is never older.
    const here = [...this.#dirty, ...this.#writing, this.#counting.get(tenant.org)]
      .filter((some) => some?.tenant.org === tenant.org)
      .filter((some) => some !== undefined && some.dayMs >= fromMs && some.dayMs < toMs);
    const days = new Map<string, { dayMs: number; names: NamedHours }>();
    const stored = readDays<NamedHours>(this.store, seriesOf(tenant), fromMs, toMs);
    for await (const { dayMs, writer, value } of stored) days.set(writer, { dayMs, names: value });
    for (const some of here) days.set(some!.writer, { dayMs: some!.dayMs, names: some!.names });
    return [...days.values()];
  }

  /** Resolves when all that was counted before it is in the store. */
  flush(): Promise<void> {
    return this.#flushing = this.#flushing.catch(() => {}).then(() => this.#write());
  }

  /** Writes down what is left. */
  async stop(): Promise<void> {
    this.#timer?.();
    await this.flush();
  }

  /** For the organization, and for the whole installation. */
  #addTo(tenant: Tenant, name: string): void {
    this.#add(SYSTEM, name);
    if (tenant.org !== SYSTEM.org) this.#add(tenant, name);
  }

  #add(tenant: Tenant, name: string): void {
    const counting = this.#of(tenant);
    let hours = counting.names.get(name);
    if (hours === undefined) {
      const denial = name.startsWith(DENIALS);
      const known = denial && counting.denials >= DENIALS_MAX ? OTHERS : name;
      if (denial) counting.denials++;
      hours = counting.names.get(known) ?? new Uint32Array(HOURS);
      counting.names.set(known, hours);
    }
    hours[counting.hour]!++;
    if (counting.dirty) return;
    counting.dirty = true;
    this.#dirty.add(counting);
    this.#timer ??= this.store.clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.onError);
    });
  }

  #of(tenant: Tenant): Counting {
    const now = this.store.clock.now();
    const before = this.#counting.get(tenant.org);
    if (before !== undefined && isStillHour(before.hourEndsMs, now)) return before;
    const dayMs = Math.floor(now / DAY_MS) * DAY_MS;
    const hour = Math.floor((now - dayMs) / HOUR_MS);
    const hourEndsMs = dayMs + (hour + 1) * HOUR_MS;
    if (before?.dayMs === dayMs) return Object.assign(before, { hour, hourEndsMs });
    // Each name is used once: another process, or this one later, must not overwrite what was counted.
    const writer = `${this.instance}.${++this.#writers}`;
    const names = new Map<string, Hours>();
    const counting = { tenant, writer, dayMs, names, denials: 0, hour, hourEndsMs, dirty: false };
    this.#counting.set(tenant.org, counting);
    return counting;
  }

  async #write(): Promise<void> {
    const due = [...this.#dirty];
    this.#dirty = new Set();
    this.#writing = due;
    for (const counting of due) counting.dirty = false;
    let at = 0;
    try {
      for (; at < due.length; at += AT_ONCE) {
        const some = due.slice(at, at + AT_ONCE);
        await this.store.transact((tx) => some.forEach((counting) => put(tx, counting)));
      }
    } catch (error) {
      // Nothing is lost: whole values are written again, whatever became of them this time.
      for (const counting of due.slice(at)) {
        counting.dirty = true;
        this.#dirty.add(counting);
      }
      throw error;
    } finally {
      this.#writing = [];
      this.#letGo();
    }
  }

  /** Keeps memory within its bounds; who comes again goes on under another writer's name. */
  #letGo(): void {
    for (const [org, { dirty }] of this.#counting) {
      if (this.#counting.size <= KEPT_MAX) return;
      if (!dirty) this.#counting.delete(org);
    }
  }
}

function put(tx: Parameters<typeof putDay>[0], counting: Counting): void {
  const { tenant, dayMs, writer, names } = counting;
  const bytes = REST_BYTES + names.size * NAME_BYTES;
  const value = new Map([...names].map(([name, hours]) => [name, hours.slice()]));
  putDay(tx, seriesOf(tenant), { dayMs, writer, value }, { bytes });
}

const seriesOf = (tenant: Tenant): Series => ({ tenant, name: "activity", id: "all" });
