import { setKey } from "../store/change.ts";
import { isInWindow, isWithin } from "../store/clock.ts";
import { RecentMap } from "../store/recent.ts";
import type { Store } from "../store/store.ts";

/** What one taker wants of one limit. */
export interface Claim {
  /** What is counted; one key has one window length. */
  readonly key: string;
  readonly limit: number;
  /** Windows begin at the multiples of this since the Unix epoch. */
  readonly windowMs: number;
  /** How many are taken together; 1 unless said. */
  readonly amount?: number;
}

/** What a taker is answered. */
export interface Grant<C extends Claim = Claim> {
  readonly admitted: boolean;
  /** The tightest of the claims: of those that refuse the last to end, else the one with least left. */
  readonly claim: C;
  /** How many more its window will admit at the least. */
  readonly remaining: number;
  /** When its window ends, in ms since the epoch. */
  readonly resetMs: number;
}

/** Several limits that one taker must pass together. */
export type Claims<C extends Claim = Claim> = readonly [C, ...C[]];

/** One window of one key, as this instance knows it. It never becomes another window. */
interface Window {
  readonly startMs: number;
  readonly at: Deno.KvKey;
  /** What the store says that this instance has taken, and how much of it was spent. */
  granted: number;
  used: number;
  /** How far it may be spent under `limit`; another limit sends the taker to the store. */
  spendable: number;
  limit: number;
  /** What all instances have taken together, as far as this one knows. */
  taken: number;
  /** The engine's read or write that others wait for. */
  refill: Promise<void> | null;
  /** Since when nothing, or less than somebody wanted, is known to be left; null while something is. */
  dryAtMs: number | null;
  readAtMs: number;
  watched: boolean;
}

interface Wanted {
  readonly claim: Claim;
  readonly window: Window;
}

/** All windows of one length that are open now. */
interface Current {
  readonly startMs: number;
  readonly windows: RecentMap<Window>;
}

/** How long after a window ran dry takers wait for what another instance may give back. */
const RETURNS_MS = 60;
const REREAD_MS = 5;
/** How often a window that stays dry is looked at, without a taker that waits. */
const LATE_REREAD_MS = 100;
/** A lease that nobody has spent from for this long goes back. */
const IDLE_MS = 20;
const WINDOWS_MAX = 50_000;
/** A sole writer leases at least this many, so that the end of a window costs few commits. */
const SOLE_SHARE_MIN = 8;
/** How often a give-back may lose to another instance before it is left. */
const GIVE_BACK_TRIES_MAX = 10;
/** A counter outlives its window, because clocks differ and step back. */
const EXPIRY_SLACK_MS = 300_000;

/**
 * Fixed-window counters, taken in leases: an instance reserves a shrinking share of what is left by
 * compare-and-set and spends it in memory. Over all instances no window admits more than its limit,
 * and a refusal writes nothing. Whatever is doubtful counts as spent: a commit whose outcome is
 * unknown, a window that memory had no room for, a lease whose window ended.
 */
export class LeasedCounters {
  readonly #current = new Map<number, Current>();
  /** Reused by takers that need not wait. */
  readonly #found: Window[] = [];

  constructor(
    private readonly store: Store,
    /** How many instances may share the store; a sole writer returns nothing and waits for nobody. */
    private readonly instances: number,
    /** How many windows of one length are kept in memory. */
    private readonly windowsMax = WINDOWS_MAX,
  ) {}

  /**
   * Takes what is wanted from the current window of each claim, or from none. Answers at once unless a lease must
   * be renewed.
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

  /** The refusal that a taker would get now, as far as memory knows; takes nothing. */
  refusal<C extends Claim>(claims: Claims<C>): Grant<C> | null {
    const nowMs = this.store.clock.now();
    return this.#refuse(claims, claims.map((claim) => this.#window(claim, nowMs)), nowMs);
  }

  /** What is left now, at the least: the leases of other instances count as spent. */
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

  /** All windows have enough to spend: nothing else runs until each has spent it. */
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

  /** What others have not taken may be gone the next moment, unless there are no others. */
  #leftOf({ spendable, used, taken }: Window, { limit }: Claim): number {
    return spendable - used + (this.instances > 1 ? 0 : Math.max(0, limit - taken));
  }

  /** The refusal of the dry window that ends last, or null when none is known to be dry for good. */
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
        this.#lookAgain(window, nowMs);
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
      // What this taker has waited for is its own to spend, also when memory has dropped it meanwhile.
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

  /** Whoever else wants one of these windows meanwhile waits for the same refill. */
  #begin(short: readonly Wanted[]): void {
    const refill = this.#refill(short).finally(() => {
      for (const { window } of short) window.refill = null;
    });
    for (const { window } of short) window.refill = refill;
  }

  /** Leases from all of these windows in one commit, or, when one of them is dry, from none. */
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

  /** Reads a window that stays dry: what another instance gave back late is there for the next taker. */
  #lookAgain(window: Window, nowMs: number): void {
    if (isWithin(window.readAtMs, LATE_REREAD_MS, nowMs)) return;
    window.readAtMs = nowMs;
    this.store.kv.get<number>(window.at).then(({ value }) => {
      window.taken = value ?? 0;
    }).catch(() => {});
  }

  /** What is not spent soon goes back, so that other instances may admit it. */
  #watch(claim: Claim, window: Window): void {
    if (window.watched) return;
    window.watched = true;
    const { clock } = this.store;
    const endMs = window.startMs + claim.windowMs;
    let used = window.used;
    const look = () => {
      const over = window.used === window.granted || clock.now() >= endMs;
      const idle = window.used === used && window.refill === null;
      if (!over && !idle) {
        used = window.used;
        return void clock.after(IDLE_MS, look);
      }
      window.watched = false;
      if (!over) this.#giveBack(claim, window).catch(() => {});
    };
    clock.after(IDLE_MS, look);
  }

  /** The lease ends first. A write whose outcome is unknown is not tried again: that could give back twice. */
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

/** True when less is left than is wanted, as far as this instance knows. */
const isDry = ({ limit, spendable, used, taken }: Window, claim: Claim) =>
  limit === claim.limit && spendable - used + Math.max(0, limit - taken) < amountOf(claim);

/** What may be spent of a lease, which may have been taken under a higher limit than this one. */
function leaseUnder({ granted, used }: Window, taken: number, limit: number): number {
  return Math.max(0, granted - used - Math.max(0, taken - limit));
}
