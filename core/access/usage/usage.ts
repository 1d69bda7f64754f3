import type { Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import {
  dropDays,
  dropLatest,
  putDay,
  readDays,
  readLatest,
  type Series,
} from "../../../kv/store/series.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Background } from "../../work/background.ts";
import type { Actor } from "../../work/work.ts";
import type { Cancel } from "../../ports/ports.ts";
import {
  countName,
  type DayCounts,
  emptyDay,
  type Endpoint,
  isStillHour,
  type StoredDay,
  storedDay,
} from "./day.ts";
import { DAY_MS, HOUR_MS } from "../../codec/durations.ts";

/** With the commit that follows, a crash loses less than a second of counts. */
const FLUSH_MS = 750;
/** Keys per commit: a self-hosted server takes ten checks, and ten of the largest days fit. */
const KEYS_AT_ONCE = 10;
/** Keys kept in memory after they were written, so that a key's day stays one value. */
const KEYS_MAX = 10_000;
/** Names take most of the memory, about 300 bytes each. */
const NAMES_MAX = 100_000;

/** The counts of one key and day in this process, stored under their own writer's name. */
interface Counting {
  readonly tenant: Tenant;
  readonly id: string;
  readonly writer: string;
  readonly dayMs: number;
  readonly day: DayCounts;
  hour: number;
  hourEndsMs: number;
  lastMs: number;
  /** True while the store lacks some of it. */
  dirty: boolean;
}

/**
 * Counts the use of API keys in memory, and writes it to the store within a second and at the stop. Each instance
 * writes its own days, which reads add up. A request costs a look-up and an increment.
 */
export class Usage {
  /** The current day by key id. */
  readonly #counting = new Map<string, Counting>();
  #dirty: Counting[] = [];
  /** Past days that may not be written yet. */
  readonly #ended = new Set<Counting>();
  /** Keys in the running flush. */
  #writing = 0;
  #names = 0;
  #writers = 0;
  #timer: Cancel | null = null;
  #flushing: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: {
      readonly store: Store;
      readonly instance: string;
      readonly background: Pick<Background, "run">;
      /** Takes the error of a flush, which is tried again later. */
      readonly onError: (error: unknown) => void;
    },
    private readonly max = { keys: KEYS_MAX, names: NAMES_MAX },
  ) {}

  /**
   * Counts an answered request of an API key; other actors are ignored. A request over a limit counts only as
   * that. `agent` is the agent that it named.
   */
  request(actor: Actor, endpoint: Endpoint, agent: string | null, status: number): void {
    if (actor.kind !== "api_key") return;
    const counting = this.#of(actor);
    const { day, hour } = counting;
    if (status === 429) {
      day.rateLimited[hour]!++;
      return;
    }
    day.requests[hour]!++;
    this.#names += countName(day.endpoints, endpoint, hour);
    // A malformed request, or one for something missing, named no agent.
    if (agent === null || status === 400 || status === 404) return;
    this.#names += countName(day.agents, agent, hour);
  }

  /** Counts an MCP tool call; `agent` is the agent that it named. */
  mcpCall(actor: Actor, agent: string | null): void {
    if (actor.kind !== "api_key") return;
    const { day, hour } = this.#of(actor);
    day.mcpCalls[hour]!++;
    if (agent !== null) this.#names += countName(day.agents, agent, hour);
  }

  /** Each writer's days from `fromMs` up to `toMs`, including unwritten counts of this process. */
  async days(
    tenant: Tenant,
    id: string,
    fromMs: number,
    toMs: number,
  ): Promise<{ dayMs: number; value: StoredDay }[]> {
    // Before the store is read: counts written meanwhile are in both, and memory is never older.
    const here = [this.#counting.get(id), ...this.#ended]
      .filter((some) => some !== undefined)
      .filter((some) => some.id === id && some.dayMs >= fromMs && some.dayMs < toMs);
    const days = new Map<string, { dayMs: number; value: StoredDay }>();
    const stored = readDays<StoredDay>(this.parts.store, series(tenant, id), fromMs, toMs);
    for await (const { dayMs, writer, value } of stored) days.set(writer, { dayMs, value });
    for (const { dayMs, writer, day } of here) {
      days.set(writer, { dayMs, value: storedDay(day).value });
    }
    return [...days.values()];
  }

  /** When a key was last used, in ms, or null. */
  async lastUsed(tenant: Tenant, id: string): Promise<number | null> {
    const here = this.#counting.get(id)?.lastMs;
    const stored = await readLatest(this.parts.store, series(tenant, id));
    return here === undefined ? stored : Math.max(here, stored ?? 0);
  }

  /** Deletes the usage of a key, in the transaction that deletes the key. */
  forget(tx: Tx, tenant: Tenant, id: string): void {
    const gone = series(tenant, id);
    dropLatest(tx, gone);
    tx.afterCommit(() => {
      this.#drop(id);
      const { store, background } = this.parts;
      background.run("the removal of a deleted key's usage", () => dropDays(store, gone));
    });
  }

  /** Keys with counts that a crash would lose. */
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

  #of({ tenant, id }: Actor): Counting {
    const now = this.parts.store.clock.now();
    let counting = this.#counting.get(id);
    if (counting === undefined || !isStillHour(counting.hourEndsMs, now)) {
      counting = this.#advance(tenant, id, counting, now);
    }
    counting.lastMs = now;
    if (!counting.dirty) this.#markDirty(counting);
    return counting;
  }

  /** Schedules a write. */
  #markDirty(counting: Counting): void {
    counting.dirty = true;
    this.#dirty.push(counting);
    this.#timer ??= this.parts.store.clock.after(FLUSH_MS, () => {
      this.#timer = null;
      this.flush().catch(this.parts.onError);
    });
  }

  /** Moves on to the hour of `now`, and to a new day if that has changed. */
  #advance(tenant: Tenant, id: string, before: Counting | undefined, now: number): Counting {
    const dayMs = Math.floor(now / DAY_MS) * DAY_MS;
    const hour = Math.floor((now - dayMs) / HOUR_MS);
    const hourEndsMs = dayMs + (hour + 1) * HOUR_MS;
    if (before?.dayMs === dayMs) return Object.assign(before, { hour, hourEndsMs });
    if (before !== undefined) this.#ended.add(before);
    this.#drop(id);
    const writer = `${this.parts.instance}.${++this.#writers}`;
    const rest = { dayMs, day: emptyDay(), hour, hourEndsMs, lastMs: now, dirty: false };
    const counting = { tenant, id, writer, ...rest };
    this.#counting.set(id, counting);
    return counting;
  }

  async #write(): Promise<void> {
    const due = this.#dirty;
    this.#dirty = [];
    this.#writing = due.length;
    for (const counting of due) counting.dirty = false;
    let at = 0;
    try {
      for (; at < due.length; at += KEYS_AT_ONCE) {
        await this.#writeSome(due.slice(at, at + KEYS_AT_ONCE));
      }
    } catch (error) {
      // Nothing is lost: the whole values are written again.
      for (const counting of due.slice(at)) if (!counting.dirty) this.#markDirty(counting);
      throw error;
    } finally {
      this.#writing = 0;
      this.#evict();
    }
  }

  async #writeSome(some: readonly Counting[]): Promise<void> {
    const gone = await this.parts.store.transact(async (tx) => {
      // The read becomes a check, so that a deleted key's counts do not come back.
      const keys = await Promise.all(some.map(({ tenant, id }) => tx.get(apiKeys, tenant, id)));
      some.forEach(({ tenant, id, dayMs, writer, day, lastMs }, at) => {
        if (keys[at] === null) return;
        const { value, bytes } = storedDay(day);
        putDay(tx, series(tenant, id), { dayMs, writer, value }, { bytes, atMs: lastMs });
      });
      return some.filter((_, at) => keys[at] === null);
    });
    for (const { id } of gone) this.#drop(id);
  }

  /**
   * Keeps memory within its bounds; a dropped key continues under another writer's name. At the end of a flush
   * everything that is not dirty is in the store.
   */
  #evict(): void {
    for (const counting of this.#ended) if (!counting.dirty) this.#ended.delete(counting);
    const todayMs = Math.floor(this.parts.store.clock.now() / DAY_MS) * DAY_MS;
    for (const [id, { dirty, dayMs }] of this.#counting) {
      const full = this.#counting.size > this.max.keys || this.#names > this.max.names;
      if (!dirty && (full || dayMs < todayMs)) this.#drop(id);
    }
  }

  #drop(id: string): void {
    const counting = this.#counting.get(id);
    if (counting === undefined) return;
    this.#counting.delete(id);
    this.#names -= counting.day.agents.size + counting.day.endpoints.size;
  }
}

const series = (tenant: Tenant, id: string): Series => ({ tenant, name: "api_key_usage", id });
