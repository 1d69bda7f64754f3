import { type Cancel, isWithin } from "../store/clock.ts";
import { deleteKey, setKey } from "../store/change.ts";
import type { Store } from "../store/store.ts";

/** What this instance holds of one key's slots. */
interface KeyState {
  used: number;
  /** The most that were in use at once since the last look. */
  peak: number;
  /** Slots that the store says are this instance's, under which limit and until when. */
  leased: number;
  limit: number;
  untilMs: number;
  /** When all slots were taken: for a while nobody asks the store again. */
  fullAtMs: number;
  /** True when the store may say that something is leased here. */
  stored: boolean;
  write: Promise<void> | null;
  idle: Cancel | null;
  renewal: Cancel | null;
}

/** The row of one key: the slots of each instance, and until when they are its own. */
type Row = Readonly<Record<string, readonly [slots: number, untilMs: number]>>;

/** An instance that has not renewed its slots for this long is dead, and they come back. */
const LEASE_MS = 30_000;
const RENEW_MS = 10_000;
/** Slots that were not needed for this long go back. */
const IDLE_MS = 20;
/** A key that comes and goes is kept, up to so many keys: counting it anew costs more than memory. */
const IDLE_KEYS_MAX = 10_000;
/** How often, and after which pause, a taker asks again for what another instance may give back. */
const TRIES_MAX = 12;
const RETRY_MS = 5;
/** How long the takers after one that asked in vain are refused from memory. */
const FULL_MS = 50;

/**
 * How many of something are open at once, by key. A sole writer counts in memory. Several instances
 * lease slots in the store: each key has one row, in which every instance writes its own number and
 * until when it holds, by compare-and-set, so that the sum never exceeds the limit. A number is
 * absolute, so a write whose outcome is unknown is put right by the next one.
 */
export class LeasedSlots {
  readonly #keys = new Map<string, KeyState>();

  constructor(
    private readonly store: Store,
    private readonly instance: string,
    /** How many instances may share the store; 1 for a sole writer, which writes nothing. */
    private readonly instances: number,
  ) {}

  /** Takes a slot from what is in hand; "unknown" means that only the store can tell. */
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

  /** The same, after asking the store; false when every slot is taken. */
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

  /** Gives a slot back; once for each that was taken. */
  leave(key: string): void {
    const state = this.#keys.get(key);
    if (state === undefined) return; // this instance ends, and has given everything back
    state.used--;
    if (state.leased > 0) this.#tidySoon(key, state);
    else if (this.#keys.size > IDLE_KEYS_MAX) this.#forget(key, state);
  }

  /** How many are open or reserved, over all instances. */
  async taken(key: string): Promise<number> {
    const own = this.#keys.get(key)?.used ?? 0;
    if (this.instances === 1) return own;
    const { value } = await this.store.kv.get<Row>(rowOf(key));
    return own + sum(this.#others(value));
  }

  /** Gives back all that is leased, because this instance ends. */
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
      this.store.clock.now() < state.untilMs;
  }

  #isFull({ fullAtMs }: KeyState): boolean {
    return isWithin(fullAtMs, FULL_MS, this.store.clock.now());
  }

  /** The live slots of other instances. */
  #others(row: Row | null): Row {
    const nowMs = this.store.clock.now();
    const others = Object.entries(row ?? {}).filter(([instance, [, untilMs]]) =>
      instance !== this.instance && nowMs < untilMs
    );
    return Object.fromEntries(others);
  }

  /** One write at a time for each key; whoever wants another waits for it. `null` asks for no more. */
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

  /** Writes what this instance needs, and, when it has nothing to spare, a share of what is free. */
  async #lease(key: string, state: KeyState, asked: number | null): Promise<void> {
    const at = rowOf(key), limit = asked ?? state.limit;
    state.stored = true;
    const lease = await this.store.transact(async (tx) => {
      const { value, versionstamp } = await this.store.kv.get<Row>(at);
      const nowMs = this.store.clock.now();
      const others = this.#others(value), elsewhere = sum(others);
      const live = nowMs < state.untilMs ? state.leased : 0;
      const own = Math.max(state.used, Math.min(live, limit - elsewhere));
      const free = limit - elsewhere - own;
      const more = asked !== null && own === state.used && free > 0
        ? Math.max(1, Math.floor(free / (2 * this.instances)))
        : 0;
      const slots = own + more;
      const [known, knownUntilMs] = value?.[this.instance] ?? [0, 0];
      const fresh = slots === 0 || knownUntilMs - nowMs > LEASE_MS - RENEW_MS;
      if (slots === known && fresh) return { slots, untilMs: knownUntilMs };
      const untilMs = nowMs + LEASE_MS;
      const row: Row = slots > 0 ? { ...others, [this.instance]: [slots, untilMs] } : others;
      const rows = Object.keys(row).length;
      tx.check(at, versionstamp);
      tx.stage(rows === 0 ? deleteKey(at) : setKey(at, row, 64 * rows, 2 * LEASE_MS));
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
