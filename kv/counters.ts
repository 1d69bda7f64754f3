import { slotOf } from "./collection.ts";
import type { Store } from "./store.ts";

/** What a limiter answers. */
export interface Grant {
  readonly admitted: boolean;
  /** How many more this window will admit at the least. */
  readonly remaining: number;
  /** When the window ends, in ms since the epoch. */
  readonly resetMs: number;
}

interface Window {
  startMs: number;
  granted: number;
  used: number;
  /** What all instances have taken together, as far as this one knows. */
  taken: number;
  refill: Promise<void> | null;
  dryAtMs: number;
  readAtMs: number;
}

/** How long after running dry another instance may still give back what it does not use. */
const RETURNS_MS = 60;
const REREAD_MS = 5;
const IDLE_MS = 20;
const WINDOWS_MAX = 50_000;

/**
 * Fixed-window counters, taken in leases: an instance reserves a shrinking share of what is left by
 * compare-and-set and spends it in memory. Over all instances no window admits more than its limit,
 * and a refusal writes nothing.
 */
export class LeasedCounters {
  readonly #windows = new Map<string, Window>();

  constructor(
    private readonly store: Store,
    /** How many instances may share the store; a sole writer returns nothing and waits for nobody. */
    private readonly instances: number,
  ) {}

  /** Takes one from `key`'s current window; answers at once unless the lease must be renewed. */
  take(key: string, limit: number, windowMs: number): Grant | Promise<Grant> {
    const now = this.store.clock.now();
    const window = this.#window(key, Math.floor(now / windowMs) * windowMs);
    if (window.used < window.granted) return this.#admit(key, window, limit, windowMs);
    return this.#takeSlowly(key, window, limit, windowMs);
  }

  #window(key: string, startMs: number): Window {
    let window = this.#windows.get(key);
    if (window === undefined) {
      window = { startMs, granted: 0, used: 0, taken: 0, refill: null, dryAtMs: 0, readAtMs: 0 };
      this.#windows.set(key, window);
      if (this.#windows.size > WINDOWS_MAX) {
        this.#windows.delete(this.#windows.keys().next().value!);
      }
    } else if (startMs > window.startMs) {
      // A clock that steps back stays in the window that has been reached.
      Object.assign(window, { startMs, granted: 0, used: 0, taken: 0, dryAtMs: 0, readAtMs: 0 });
    }
    return window;
  }

  #admit(key: string, window: Window, limit: number, windowMs: number): Grant {
    window.used++;
    if (this.instances > 1) this.#returnWhenIdle(key, window, windowMs);
    return { admitted: true, ...this.#left(window, limit, windowMs) };
  }

  #left(window: Window, limit: number, windowMs: number) {
    const open = Math.max(0, limit - window.taken);
    const share = this.instances > 1 ? 0 : open;
    return {
      remaining: window.granted - window.used + share,
      resetMs: window.startMs + windowMs,
    };
  }

  async #takeSlowly(
    key: string,
    window: Window,
    limit: number,
    windowMs: number,
  ): Promise<Grant> {
    const { startMs } = window;
    while (window.startMs === startMs) {
      if (window.used < window.granted) return this.#admit(key, window, limit, windowMs);
      const now = this.store.clock.now();
      const dry = window.readAtMs > 0 && window.taken >= limit;
      if (dry) {
        const mayReturn = this.instances > 1 && now - window.dryAtMs < RETURNS_MS;
        if (!mayReturn) return { admitted: false, ...this.#left(window, limit, windowMs) };
        await this.store.clock.sleep(REREAD_MS);
      }
      await (window.refill ??= this.#refill(key, window, limit, windowMs).finally(() => {
        window.refill = null;
      }));
    }
    return await this.take(key, limit, windowMs);
  }

  async #refill(key: string, window: Window, limit: number, windowMs: number): Promise<void> {
    const { startMs } = window;
    const at = ["~", "rate", key, startMs];
    const granted = await this.store.transact(async (tx) => {
      const entry = await this.store.kv.get<number>(at);
      const taken = entry.value ?? 0;
      const left = limit - taken;
      const share = left <= 0 ? 0 : Math.max(1, Math.floor(left / (2 * this.instances)));
      if (share > 0) {
        tx.check(at, entry.versionstamp);
        const value = taken + share, expireIn = windowMs * 2;
        tx.stage({ kind: "set", key: at, slot: slotOf(at), value, bytes: 16, expireIn });
      }
      return { taken: taken + share, share };
    });
    if (window.startMs !== startMs) return;
    window.taken = granted.taken;
    window.granted += granted.share;
    window.readAtMs = this.store.clock.now();
    if (granted.share > 0) window.dryAtMs = 0;
    else if (window.dryAtMs === 0) window.dryAtMs = window.readAtMs;
  }

  /** What is not spent soon goes back, so that other instances may admit it. */
  #returnWhenIdle(key: string, window: Window, windowMs: number): void {
    const { used, startMs } = window;
    this.store.clock.after(IDLE_MS, () => {
      const idle = window.startMs === startMs && window.used === used;
      const unspent = window.granted - window.used;
      if (!idle || unspent === 0 || window.refill !== null) return;
      window.granted = window.used;
      window.taken -= unspent;
      const at = ["~", "rate", key, startMs];
      // Never tried again when the outcome is unknown: giving back twice would admit too many.
      this.store.kv.get<number>(at).then(async (entry) => {
        if (entry.value === null) return;
        const op = this.store.kv.atomic().check(entry);
        await op.set(at, entry.value - unspent, { expireIn: windowMs * 2 }).commit();
      }).catch(() => {});
    });
  }
}
