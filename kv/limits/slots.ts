import { type Cancel, dueAt, isUnexpired, isWithin } from "../store/clock.ts";
import { deleteKey, setKey } from "../store/change.ts";
import type { Store } from "../store/store.ts";

/** One key's slots, as this instance uses and leases them. */
interface KeyState {
  used: number;
  /** The most that were in use at once since the last check. */
  peak: number;
  /** The slots that this instance leased, under which limit and until when. */
  leased: number;
  limit: number;
  untilMs: number;
  /** When all slots were taken: callers are refused from memory for FULL_MS then. */
  fullAtMs: number;
  /** True when the store may hold a lease of this instance. */
  stored: boolean;
  write: Promise<void> | null;
  idle: Cancel | null;
  renewal: Cancel | null;
}

/** The row of one key: the slots of each instance, and when their lease ends. */
type Row = Readonly<Record<string, readonly [slots: number, untilMs: number]>>;

/** An instance that does not renew its slots for this long loses them. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** No lease ends later, even by the clock of another instance. */
const LEASE_MS_MAX = 2 * LEASE_MS;
/** Slots that are unused for this long are given back. */
const IDLE_MS = 20;
/** Idle keys that stay in memory, because setting a key up again costs more than keeping it. */
const IDLE_KEYS_MAX = 10_000;
/** How often a caller asks for slots that another instance may give back, and the pause between. */
const TRIES_MAX = 12;
const RETRY_MS = 5;
/** How long later callers are refused from memory after one that found all slots taken. */
const FULL_MS = 50;

/**
 * Bounds how many of something are open at once, by key. A sole writer counts in memory. Several instances
 * lease slots in the store: each key has one row, in which every instance writes how many slots it has and
 * until when, by compare-and-set, so that the sum never exceeds the limit. The number is absolute, so the
 * next write corrects one whose outcome is unknown.
 */
export class LeasedSlots {
  readonly #keys = new Map<string, KeyState>();

  constructor(
    private readonly store: Store,
    private readonly instance: string,
    /** How many instances may share the store. A sole one writes nothing. */
    private readonly instances: number,
  ) {}

  /** Takes a slot that memory knows to be free; "unknown" means that the store must be asked. */
  enter(key: string, limit: number): "entered" | "full" | "unknown" {
    const known = this.#keys.get(key);
    if (known !== undefined && known.used >= limit) return "full";
    if (this.instances > 1 && limit !== Infinity && !this.#hasSpare(known, limit)) {
      return known !== undefined && this.#isFull(known) ? "full" : "unknown";
    }
    const state = known ?? this.#begin(key);
    state.used++;
    if (state.used > state.peak) state.peak = state.used;
    return "entered";
  }

  /** Takes a slot, asking the store when needed; false when all are taken. */
  async enterSlowly(key: string, limit: number): Promise<boolean> {
    const { clock } = this.store;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (tries > 1) await clock.sleep(RETRY_MS);
      const entered = this.enter(key, limit);
      if (entered !== "unknown") return entered === "entered";
      await this.#write(key, this.#keys.get(key) ?? this.#begin(key), limit);
    }
    if (this.enter(key, limit) === "entered") return true;
    const state = this.#keys.get(key) ?? this.#begin(key);
    state.fullAtMs = clock.now();
    clock.after(FULL_MS, () => this.#forget(key, state));
    return false;
  }

  /** Gives a taken slot back. */
  leave(key: string): void {
    const state = this.#keys.get(key);
    if (state === undefined) return; // after close(), which gave everything back
    state.used--;
    if (state.leased > 0) this.#tidySoon(key, state);
    else if (this.#keys.size > IDLE_KEYS_MAX) this.#forget(key, state);
  }

  /** How many slots are used here or leased by other instances. */
  async taken(key: string): Promise<number> {
    const own = this.#keys.get(key)?.used ?? 0;
    if (this.instances === 1) return own;
    const { value } = await this.store.kv.get<Row>(rowOf(key));
    return own + sum(this.#others(value));
  }

  /** Gives back all leases, because this instance stops. */
  async close(): Promise<void> {
    await Promise.all([...this.#keys].map(async ([key, state]) => {
      await state.write?.catch(() => {});
      state.used = state.leased = state.peak = 0;
      if (state.stored) await this.#write(key, state, null).catch(() => {});
      state.idle?.();
      state.renewal?.();
      this.#keys.delete(key);
    }));
  }

  #begin(key: string): KeyState {
    const state: KeyState = {
      used: 0,
      peak: 0,
      leased: 0,
      limit: 0,
      untilMs: 0,
      fullAtMs: -Infinity,
      stored: false,
      write: null,
      idle: null,
      renewal: null,
    };
    this.#keys.set(key, state);
    return state;
  }

  #hasSpare(state: KeyState | undefined, limit: number): boolean {
    return state !== undefined && state.used < state.leased && state.limit === limit &&
      isUnexpired(state.untilMs, LEASE_MS_MAX, this.store.clock.now());
  }

  #isFull({ fullAtMs }: KeyState): boolean {
    return isWithin(fullAtMs, FULL_MS, this.store.clock.now());
  }

  /** The unexpired leases of other instances. */
  #others(row: Row | null): Row {
    const nowMs = this.store.clock.now();
    const others = Object.entries(row ?? {}).filter(([instance, [, untilMs]]) =>
      instance !== this.instance && isUnexpired(untilMs, LEASE_MS_MAX, nowMs)
    );
    return Object.fromEntries(others);
  }

  /** Writes a key's lease, one write at a time for each key. A `limit` of null asks for no more slots. */
  async #write(key: string, state: KeyState, limit: number | null): Promise<void> {
    state.write ??= this.#lease(key, state, limit).finally(() => {
      state.write = null;
      if (state.stored) {
        state.renewal ??= this.store.clock.after(RENEW_MS, () => {
          state.renewal = null;
          this.#write(key, state, null).catch(() => {});
        });
      }
      if (state.used < state.leased) this.#tidySoon(key, state);
    });
    await state.write;
    this.#forget(key, state);
  }

  /** Leases what this instance uses and, when it has no spare slot, a share of what is free. */
  async #lease(key: string, state: KeyState, asked: number | null): Promise<void> {
    const at = rowOf(key), limit = asked ?? state.limit;
    state.stored = true;
    const lease = await this.store.transact(async (tx) => {
      const { value, versionstamp } = await this.store.kv.get<Row>(at);
      const nowMs = this.store.clock.now();
      const others = this.#others(value), elsewhere = sum(others);
      const live = isUnexpired(state.untilMs, LEASE_MS_MAX, nowMs) ? state.leased : 0;
      const own = Math.max(state.used, Math.min(live, limit - elsewhere));
      const free = limit - elsewhere - own;
      const more = asked !== null && own === state.used && free > 0
        ? Math.max(1, Math.floor(free / (2 * this.instances)))
        : 0;
      const slots = own + more;
      const [known, knownUntilMs] = value?.[this.instance] ?? [0, 0];
      const leftMs = dueAt(knownUntilMs, LEASE_MS_MAX, nowMs) - nowMs;
      const fresh = slots === 0 || leftMs > LEASE_MS - RENEW_MS;
      if (slots === known && fresh) return { slots, untilMs: knownUntilMs };
      const untilMs = nowMs + LEASE_MS;
      const row: Row = slots > 0 ? { ...others, [this.instance]: [slots, untilMs] } : others;
      const rows = Object.keys(row).length;
      tx.check(at, versionstamp);
      tx.stage(rows === 0 ? deleteKey(at) : setKey(at, row, 64 * rows, LEASE_MS_MAX));
      return { slots, untilMs };
    });
    state.leased = lease.slots;
    state.limit = limit;
    state.untilMs = lease.untilMs;
    state.stored = lease.slots > 0;
  }

  #tidySoon(key: string, state: KeyState): void {
    state.idle ??= this.store.clock.after(IDLE_MS, () => {
      state.idle = null;
      const needed = Math.max(state.used, state.peak);
      state.peak = state.used;
      if (state.write === null && needed < state.leased) {
        state.leased = needed;
        this.#write(key, state, null).catch(() => {});
      }
      if (state.used < state.leased) this.#tidySoon(key, state);
    });
  }

  #forget(key: string, state: KeyState): void {
    const { used, stored, write } = state;
    if (used > 0 || stored || write !== null || this.#keys.get(key) !== state) return;
    state.renewal?.();
    this.#keys.delete(key);
  }
}

const rowOf = (key: string): Deno.KvKey => ["~", "slots", key];

const sum = (row: Row): number => Object.values(row).reduce((slots, [count]) => slots + count, 0);
