import { setKey } from "../store/change.ts";
import { isInWindow, isWithin } from "../store/clock.ts";
import { RecentMap } from "../store/recent.ts";
import type { Store } from "../store/store.ts";

/** What a caller wants to take from one limit. */
export interface Claim {
  /** Names what is counted. A key has one window length. */
  readonly key: string;
  readonly limit: number;
  /** Windows begin at the multiples of this length since the Unix epoch. */
  readonly windowMs: number;
  /** How many to take; 1 by default. */
  readonly amount?: number;
}

/** The answer to a caller. */
export interface Grant<C extends Claim = Claim> {
  readonly admitted: boolean;
  /** The tightest claim: among those that refuse the one whose window ends last, else the one with least left. */
  readonly claim: C;
  /** A lower bound of what its window still admits. */
  readonly remaining: number;
  /** When its window ends, in ms since the epoch. */
  readonly resetMs: number;
}

/** Several limits that one caller must pass together. */
export type Claims<C extends Claim = Claim> = readonly [C, ...C[]];

/** One window of one key, as this instance knows it. */
interface Window {
  readonly startMs: number;
  readonly at: Deno.KvKey;
  /** What this instance has leased in the store, and how much of it is spent. */
  granted: number;
  used: number;
  /** How far it may be spent under `limit`. With another limit, the caller must ask the store. */
  spendable: number;
  limit: number;
  /** What all instances had leased at the last read. */
  taken: number;
  /** The lease in progress, which other callers wait for. */
  refill: Promise<void> | null;
  /** Since when less is left than a caller wanted; null while enough is left. */
  dryAtMs: number | null;
  readAtMs: number;
  watched: boolean;
}

interface Wanted {
  readonly claim: Claim;
  readonly window: Window;
}

/** The open windows of one length. */
interface Current {
  readonly startMs: number;
  readonly windows: RecentMap<Window>;
}

/** How long after a window ran dry callers wait for what another instance may give back. */
const RETURNS_MS = 60;
const REREAD_MS = 5;
/** How often a window that stays dry is read again, while no caller waits. */
const LATE_REREAD_MS = 100;
/** A lease that is not spent from for this long is given back. */
const IDLE_MS = 20;
const WINDOWS_MAX = 50_000;
/** A sole writer leases at least this many, so that the end of a window costs few commits. */
const SOLE_SHARE_MIN = 8;
/** Tries to give a lease back, against writes of other instances. */
const GIVE_BACK_TRIES_MAX = 10;
/** How long a counter outlives its window, because clocks differ and step back. */
const EXPIRY_SLACK_MS = 300_000;

/**
 * Fixed-window counters, taken in leases: an instance reserves a shrinking share of what is left by
 * compare-and-set and spends it in memory. Over all instances no window admits more than its limit, and a
 * refusal writes nothing. A lease counts as spent when its commit's outcome is unknown, when memory evicted
 * its window, and when its window has ended.
 */
export class LeasedCounters {
  readonly #current = new Map<number, Current>();
  /** Reused by callers that need not wait. */
  readonly #found: Window[] = [];

  constructor(
    private readonly store: Store,
    /** How many instances may share the store. A sole one gives nothing back and never waits for others. */
    private readonly instances: number,
    /** How many windows of one length are kept in memory. */
    private readonly windowsMax = WINDOWS_MAX,
  ) {}

  /**
   * Takes from the current window of each claim, or from none. Returns a promise only when it must lease from
   * the store.
   */
  takeAll<C extends Claim>(claims: Claims<C>): Grant<C> | Promise<Grant<C>> {
    const nowMs = this.store.clock.now();
    const windows = this.#found;
    let ready = true;
    for (let at = 0; at < claims.length; at++) {
      const window = windows[at] = this.#window(claims[at]!, nowMs);
      ready &&= isReady(window, claims[at]!);
    }
    if (ready) return this.#spend(claims, windows);
    return this.#refuse(claims, windows, nowMs) ?? this.#takeSlowly(claims);
  }

  /** The refusal that memory knows of now, or null. Takes nothing. */
  refusal<C extends Claim>(claims: Claims<C>): Grant<C> | null {
    const nowMs = this.store.clock.now();
    return this.#refuse(claims, claims.map((claim) => this.#window(claim, nowMs)), nowMs);
  }

  /** A lower bound of what is left now: other instances' leases count as spent. */
  async left(claim: Claim): Promise<Pick<Grant, "remaining" | "resetMs">> {
    const window = this.#window(claim, this.store.clock.now());
    const { value } = await this.store.kv.get<number>(window.at);
    const open = claim.limit - (value ?? 0) + window.granted - window.used;
    return { remaining: Math.max(0, open), resetMs: window.startMs + claim.windowMs };
  }

  #windowsOf(windowMs: number, nowMs: number): Current {
    const startMs = nowMs - nowMs % windowMs;
    let current = this.#current.get(windowMs);
    if (current === undefined || !isInWindow(current.startMs, windowMs, nowMs)) {
      this.#current.set(windowMs, current = { startMs, windows: new RecentMap(this.windowsMax) });
    }
    return current;
  }

  #window({ key, limit, windowMs }: Claim, nowMs: number): Window {
    const { startMs, windows } = this.#windowsOf(windowMs, nowMs);
    let window = windows.get(key);
    if (window === undefined) {
      window = {
        startMs,
        at: ["~", "rate", key, windowMs, startMs],
        granted: 0,
        used: 0,
        spendable: 0,
        limit,
        taken: 0,
        refill: null,
        dryAtMs: null,
        readAtMs: 0,
        watched: false,
      };
      windows.set(key, window);
    }
    return window;
  }

  /** Spends from all windows, each of which has enough. It does not await, so no other caller spends in between. */
  #spend<C extends Claim>(claims: Claims<C>, windows: readonly Window[]): Grant<C> {
    let claim: C = claims[0], remaining = Infinity, resetMs = 0;
    for (let at = 0; at < claims.length; at++) {
      const window = windows[at]!, each = claims[at]!;
      window.used += amountOf(each);
      const left = this.#leftOf(window, each), endMs = window.startMs + each.windowMs;
      if (left > remaining || left === remaining && endMs <= resetMs) continue;
      claim = each;
      remaining = left;
      resetMs = endMs;
    }
    return { admitted: true, claim, remaining, resetMs };
  }

  /** What is left of a claim. The unleased rest counts only without other instances, which could lease it first. */
  #leftOf({ spendable, used, taken }: Window, { limit }: Claim): number {
    return spendable - used + (this.instances > 1 ? 0 : Math.max(0, limit - taken));
  }

  /** The refusal of the dry window that ends last, or null when none has stayed dry. */
  #refuse<C extends Claim>(
    claims: Claims<C>,
    windows: readonly Window[],
    nowMs: number,
  ): Grant<C> | null {
    let last = -1, resetMs = 0;
    for (let at = 0; at < claims.length; at++) {
      const window = windows[at]!, claim = claims[at]!;
      if (!isDry(window, claim)) continue;
      if (this.instances > 1) {
        window.dryAtMs ??= nowMs;
        if (isWithin(window.dryAtMs, RETURNS_MS, nowMs)) continue;
        this.#reread(window, nowMs);
      }
      const endMs = window.startMs + claim.windowMs;
      if (endMs > resetMs) [last, resetMs] = [at, endMs];
    }
    return last < 0 ? null : { admitted: false, claim: claims[last]!, remaining: 0, resetMs };
  }

  async #takeSlowly<C extends Claim>(claims: Claims<C>): Promise<Grant<C>> {
    let wanted: readonly Wanted[] = [];
    while (true) {
      const nowMs = this.store.clock.now();
      // The caller may spend from a window that it waited for, even when memory has evicted it.
      wanted = claims.map((claim, at) => {
        const waited = wanted[at]?.window;
        const current = waited?.startMs === this.#windowsOf(claim.windowMs, nowMs).startMs;
        return { claim, window: current ? waited! : this.#window(claim, nowMs) };
      });
      const windows = wanted.map(({ window }) => window);
      const short = wanted.filter(({ claim, window }) => !isReady(window, claim));
      if (short.length === 0) return this.#spend(claims, windows);
      const refused = this.#refuse(claims, windows, nowMs);
      if (refused !== null) return refused;
      const dry = short.some(({ claim, window }) => isDry(window, claim));
      if (dry) await this.store.clock.sleep(REREAD_MS);
      if (short.every(({ window }) => window.refill === null)) this.#begin(short);
      await Promise.all(short.map(({ window }) => window.refill));
    }
  }

  /** Starts a refill, which other callers of these windows wait for too. */
  #begin(short: readonly Wanted[]): void {
    const refill = this.#refill(short).finally(() => {
      for (const { window } of short) window.refill = null;
    });
    for (const { window } of short) window.refill = refill;
  }

  /** Leases from all of these windows in one commit, or from none when one of them is dry. */
  async #refill(short: readonly Wanted[]): Promise<void> {
    const read = await this.store.transact(async (tx) => {
      const entries = await this.store.kv.getMany<number[]>(short.map(({ window }) => window.at));
      const takes = short.map(({ claim, window }, at) => {
        const taken = entries[at]!.value ?? 0;
        const lacking = amountOf(claim) - leaseUnder(window, taken, claim.limit);
        const covered = lacking <= 0;
        return { taken, covered, share: covered ? 0 : this.#share(claim.limit - taken, lacking) };
      });
      if (takes.some(({ covered, share }) => !covered && share === 0)) {
        return takes.map(({ taken }) => ({ taken, share: 0 }));
      }
      for (const [at, { taken, share }] of takes.entries()) {
        if (share === 0) continue;
        const { claim, window: { at: key } } = short[at]!;
        tx.check(key, entries[at]!.versionstamp);
        tx.stage(setKey(key, taken + share, 16, claim.windowMs + EXPIRY_SLACK_MS));
      }
      return takes.map(({ taken, share }) => ({ taken: taken + share, share }));
    });
    for (const [at, { taken, share }] of read.entries()) this.#apply(short[at]!, taken, share);
  }

  #share(left: number, lacking: number): number {
    if (left <= 0) return 0;
    const least = this.instances > 1 ? lacking : Math.max(lacking, SOLE_SHARE_MIN);
    return Math.min(left, Math.max(least, Math.floor(left / (2 * this.instances))));
  }

  #apply({ claim, window }: Wanted, taken: number, share: number): void {
    const nowMs = this.store.clock.now();
    window.granted += share;
    window.limit = claim.limit;
    window.spendable = window.used + leaseUnder(window, taken, claim.limit);
    window.taken = taken;
    window.readAtMs = nowMs;
    window.dryAtMs = taken < claim.limit ? null : window.dryAtMs ?? nowMs;
    if (share > 0 && this.instances > 1) this.#watch(claim, window);
  }

  /** Reads a dry window, so that the next caller gets what another instance gave back late. */
  #reread(window: Window, nowMs: number): void {
    if (isWithin(window.readAtMs, LATE_REREAD_MS, nowMs)) return;
    window.readAtMs = nowMs;
    this.store.kv.get<number>(window.at).then(({ value }) => {
      window.taken = value ?? 0;
    }).catch(() => {});
  }

  /** Gives back a lease that stays unspent, so that other instances can use it. */
  #watch(claim: Claim, window: Window): void {
    if (window.watched) return;
    window.watched = true;
    const { clock } = this.store;
    const endMs = window.startMs + claim.windowMs;
    let used = window.used;
    const check = () => {
      const over = window.used === window.granted || clock.now() >= endMs;
      const idle = window.used === used && window.refill === null;
      if (!over && !idle) {
        used = window.used;
        return void clock.after(IDLE_MS, check);
      }
      window.watched = false;
      if (!over) this.#giveBack(claim, window).catch(() => {});
    };
    clock.after(IDLE_MS, check);
  }

  /** Ends the lease first. A write with an unknown outcome is not retried: that could give back twice. */
  async #giveBack({ windowMs }: Claim, window: Window): Promise<void> {
    const unspent = window.granted - window.used;
    window.granted = window.spendable = window.used;
    window.taken -= unspent;
    const { kv } = this.store;
    for (let tries = 0; tries < GIVE_BACK_TRIES_MAX; tries++) {
      const entry = await kv.get<number>(window.at);
      if (entry.value === null) return;
      const op = kv.atomic().check(entry);
      op.set(window.at, entry.value - unspent, { expireIn: windowMs + EXPIRY_SLACK_MS });
      if ((await op.commit()).ok) return;
    }
  }
}

const amountOf = ({ amount = 1 }: Claim): number => amount;

const isReady = (window: Window, claim: Claim) =>
  window.used + amountOf(claim) <= window.spendable && window.limit === claim.limit;

/** True when this instance knows of less than the claim wants. */
const isDry = ({ limit, spendable, used, taken }: Window, claim: Claim) =>
  limit === claim.limit && spendable - used + Math.max(0, limit - taken) < amountOf(claim);

/** What may be spent of a lease under `limit`. The lease may have been made under a higher limit. */
function leaseUnder({ granted, used }: Window, taken: number, limit: number): number {
  return Math.max(0, granted - used - Math.max(0, taken - limit));
}
