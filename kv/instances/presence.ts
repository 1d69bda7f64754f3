import { CALL_MS } from "../engine/bounded.ts";
import { type Cancel } from "../store/clock.ts";
import type { Store } from "../store/store.ts";
import { APART_MS_MAX, type ClockReading, EXPLAINED_MS } from "./shared_clock.ts";
import { deathKey, Takeovers } from "./takeovers.ts";

/** How often each instance renews its row. */
const RENEW_MS = 5_000;
/** An instance whose row has not moved for this long, by the watcher's own timers, is dead. */
const DEAD_MS = 15_000;
/** An instance that could not renew its row for this long must release what others take over from a dead instance. */
const ISOLATED_MS = 10_000;

/** How often a starting instance checks whether the shared time advances. */
const LOOK_MS = 500;
/** How long it looks: longer than between two renewals of an instance whose store is slow. */
const WATCH_MS = RENEW_MS + CALL_MS + LOOK_MS;

/** The shared time at the last renewal of any instance. */
const TIME: Deno.KvKey = ["~", "time"];
const presenceKey = (id: string) => ["~", "instance", id];
/** A row of an earlier release holds no reading. */
const Reading = (value: unknown): ClockReading => {
  const { machine_ms = 0, shared_ms = 0 } = value as Partial<ClockReading>;
  return { machine_ms, shared_ms };
};
const Time = (value: unknown) => value as { readonly ms: number };

/** Another instance's row as stored. */
interface PresenceRow {
  readonly id: string;
  readonly versionstamp: string;
  readonly reading: ClockReading;
}

/** Reacts to the isolation of this process and to deaths of other instances. */
export interface PresenceListener {
  /** This process could not renew its row, or was declared dead: it must release what it holds. */
  isolated(): void;
  /** Takes over what a dead instance held. Each step must be idempotent: after a failure it runs again, anywhere. */
  reap(instance: string): Promise<void>;
}

/** Another instance, as this process sees it. */
interface Other {
  readonly versionstamp: string;
  /** How long its row has stood still while this process could read. */
  readonly stillMs: number;
}

/**
 * Tracks which instances share the store and are alive. Each renews a row; a watcher counts by its own timers how long
 * a row has not changed, so clocks need not agree. It counts from zero again when its own turn failed or took long, so
 * an outage of the store makes no instance count as dead. One compare-and-set declares a death and names the instance
 * that takes over. If that one dies too, another takes over. The renewals also carry the shared time from instance to
 * instance.
 */
export class Presence {
  readonly #others = new Map<string, Other>();
  readonly #takeovers: Takeovers;
  #versionstamp: string | null = null;
  /** When the last successful renewal began, on the clock that is never set. */
  #renewedAtMs = -Infinity;
  /** True when the last turn succeeded in time, so a row that has changed since then changed seconds ago. */
  #steady = false;
  /** True from this instance's declared death until everything that it held has been taken over. */
  #declaredDead = false;
  #running: Promise<void> | null = null;
  #timer: Cancel | null = null;

  constructor(
    private readonly store: Store,
    readonly id: string,
    private readonly listener: PresenceListener,
    private readonly onError: (error: unknown) => void,
  ) {
    this.#takeovers = new Takeovers({
      store,
      id,
      isLive: (other) => this.isLive(other),
      reap: (dead) => listener.reap(dead),
      onError,
    });
  }

  /**
   * Learns the shared time, writes this instance's row and reads those of the others. `rightTime` says that the
   * platform synchronizes the clocks of machines, so that the shared time need not be checked.
   * @throws {Error} when this machine's clock differs too much from those of the other instances
   */
  async start({ rightTime }: { readonly rightTime: boolean }): Promise<void> {
    if (!rightTime) await this.#joinTime();
    this.#later();
    await this.#turn();
  }

  /** Renews the row now: the store answers again after an outage. */
  async wake(): Promise<void> {
    await this.#running;
    this.#countAnew();
    await this.#turn();
    // Less than RENEW_MS passed before this turn.
    this.#countAnew();
  }

  /** Declares this instance dead, so that another one takes over its unfinished and unrecorded work at once. */
  async stop(): Promise<void> {
    if (this.#timer === null) return; // the store's only process
    this.#timer();
    await this.#running;
    await this.#takeovers.stop();
    await this.store.kv.atomic().delete(presenceKey(this.id))
      .set(deathKey(this.id), { by: this.id }).commit();
  }

  /**
   * False while others take over, or may soon take over, what this instance holds: it must take and send nothing. This
   * is also so in the first turn of a process that was frozen, before any timer fires.
   */
  get mayHold(): boolean {
    return !this.#declaredDead && this.#sinceRenewalMs < ISOLATED_MS;
  }

  get #sinceRenewalMs(): number {
    return this.store.clock.monotonic() - this.#renewedAtMs;
  }

  /** True for an instance that this process considers alive. */
  isLive(id: string): boolean {
    return id === this.id || this.#others.has(id);
  }

  /** True for an instance without a row. One that has started since the last turn has a row and is not known yet. */
  async isGone(id: string): Promise<boolean> {
    if (this.isLive(id)) return false;
    return this.store.sole || (await this.store.kv.get(presenceKey(id))).versionstamp === null;
  }

  /** The other instances that this process considers alive. */
  others(): string[] {
    return [...this.#others.keys()];
  }

  #later(): void {
    this.#timer = this.store.clock.after(RENEW_MS, () => {
      // Two renewals failed. A timer may fire a little early.
      if (this.#sinceRenewalMs > ISOLATED_MS - RENEW_MS / 2) this.listener.isolated();
      // With a store this slow, a row that stands still proves nothing about its instance.
      if (this.#running !== null) this.#countAnew();
      this.#later();
      this.#turn();
    });
  }

  /** Renews the row and reads the others. Only one turn runs at a time. */
  #turn(): Promise<void> {
    return this.#running ??= this.#renewAndLook().catch((error) => {
      this.#countAnew();
      if (!this.store.closing) this.onError(error);
    }).finally(() => this.#running = null);
  }

  #countAnew(): void {
    this.#steady = false;
    this.#others.forEach((other, id) => this.#others.set(id, { ...other, stillMs: 0 }));
  }

  async #renewAndLook(): Promise<void> {
    const { clock, kv } = this.store;
    const beganMs = clock.monotonic();
    const [time, others, death] = await Promise.all([
      kv.get(TIME),
      this.#readOthers(),
      this.#declaredDead ? kv.get(deathKey(this.id)) : null,
    ]);
    this.#agree(time, others);
    if (!death?.versionstamp) {
      this.#declaredDead = false;
      await this.#renew(time, beganMs);
    }
    await this.#look(others);
    await this.#takeovers.look();
    this.#steady = true;
  }

  async #readOthers(): Promise<PresenceRow[]> {
    const rows: PresenceRow[] = [];
    const prefix = presenceKey("").slice(0, -1);
    for await (const { key, value, versionstamp } of this.store.kv.list({ prefix })) {
      const id = String(key.at(-1));
      if (id !== this.id) rows.push({ id, versionstamp, reading: Reading(value) });
    }
    return rows;
  }

  /** Adopts the shared time if other instances are alive and advance it; otherwise this machine's time counts. */
  async #joinTime(): Promise<void> {
    const { kv, sharedClock: clock } = this.store;
    const first = await kv.get(TIME);
    const { machine_ms: nowMs } = clock.reading();
    const isNear = first.value !== null && Math.abs(nowMs - Time(first.value).ms) <= EXPLAINED_MS;
    if (isNear || (await this.#readOthers()).length === 0) return;
    for (let waitedMs = 0; waitedMs < WATCH_MS; waitedMs += LOOK_MS) {
      await clock.sleep(LOOK_MS);
      const { value, versionstamp } = await kv.get(TIME);
      if (versionstamp === first.versionstamp) continue;
      const apartMs = Time(value).ms - clock.reading().machine_ms;
      if (Math.abs(apartMs) > APART_MS_MAX) throw new Error(clockApart(apartMs));
      return clock.follow(Time(value).ms);
    }
  }

  #agree({ value }: Deno.KvEntryMaybe<unknown>, others: readonly PresenceRow[]): void {
    const { sharedClock: clock } = this.store;
    const live = others.filter(({ id, versionstamp }) =>
      this.#others.has(id) && this.#others.get(id)!.versionstamp !== versionstamp
    );
    if (others.length === 0) clock.lead();
    else if (value !== null) {
      clock.agree(
        Time(value).ms,
        this.#steady && live.length > 0,
        live.map(({ reading }) => reading),
      );
    }
  }

  async #renew(time: Deno.KvEntryMaybe<unknown>, beganMs: number): Promise<void> {
    const key = presenceKey(this.id), { kv, sharedClock } = this.store;
    const reading = sharedClock.reading();
    const known = this.#versionstamp;
    const result = await kv.atomic()
      .check({ key: TIME, versionstamp: time.versionstamp })
      .check({ key, versionstamp: known })
      .check({ key: deathKey(this.id), versionstamp: null })
      .set(TIME, { ms: reading.shared_ms })
      .set(key, reading)
      .commit();
    if (result.ok) {
      this.#versionstamp = result.versionstamp;
      // The renewal counts from the start of its turn: others may have seen the row since then.
      this.#renewedAtMs = beganMs;
      return;
    }
    // Another instance renewed at the same time, or the reply of an earlier renewal was lost. A missing row means
    // that this instance was declared dead: it appears again when nothing is left to be taken over.
    const [own, newer, death] = await kv.getMany<unknown[]>([key, TIME, deathKey(this.id)]);
    this.#versionstamp = own!.versionstamp;
    if (own!.versionstamp === null && known !== null) this.listener.isolated();
    this.#declaredDead = death!.versionstamp !== null;
    if (this.#declaredDead) return;
    if (newer!.value !== null) sharedClock.followForward(Time(newer!.value).ms);
    await this.#renew(newer!, beganMs);
  }

  async #look(others: readonly PresenceRow[]): Promise<void> {
    const present = new Set<string>();
    for (const { id, versionstamp } of others) {
      const known = this.#others.get(id);
      const stillMs = known?.versionstamp === versionstamp ? known.stillMs + RENEW_MS : 0;
      if (stillMs >= DEAD_MS && await this.#declareDead(id, versionstamp)) continue;
      this.#others.set(id, { versionstamp, stillMs });
      present.add(id);
    }
    for (const id of this.#others.keys()) if (!present.has(id)) this.#others.delete(id);
  }

  /** False when the instance renewed its row after all. */
  async #declareDead(id: string, versionstamp: string): Promise<boolean> {
    const { ok } = await this.store.kv.atomic()
      .check({ key: presenceKey(id), versionstamp })
      .delete(presenceKey(id))
      .set(deathKey(id), { by: this.id })
      .commit();
    return ok;
  }
}

function clockApart(apartMs: number): string {
  const [seconds, side] = [
    Math.round(Math.abs(apartMs) / 1000),
    apartMs > 0 ? "behind" : "ahead of",
  ];
  return `this machine's clock is ${seconds} s ${side} those of the other instances on this store: ` +
    "synchronize the clocks (NTP), then start again";
}
