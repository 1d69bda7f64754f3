import { type Cancel } from "../store/clock.ts";
import type { Store } from "../store/store.ts";

/** How often each instance renews its row. */
const RENEW_MS = 5_000;
/** An instance whose row has not moved for this long, by the watcher's own timers, is dead. */
const DEAD_MS = 15_000;
/** An instance that could not renew its row for this long must let go of what others take over at its death. */
const ISOLATED_MS = 10_000;

const presenceKey = (id: string) => ["~", "instance", id];
const deathKey = (id: string) => ["~", "death", id];
const Death = (value: unknown) => value as { readonly by: string };

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
 * Which instances share the store and live. Each renews a row; a watcher counts by its own timers how long a row has
 * stood still, so clocks need not agree. It counts from zero again when its own turn failed or took long, so an outage
 * of the store makes no instance count as dead. One compare-and-set declares a death and names the instance that takes over. If
 * that one dies too, another does.
 */
export class Presence {
  readonly #others = new Map<string, Other>();
  readonly #reaping = new Map<string, Promise<void>>();
  #versionstamp: string | null = null;
  #sinceRenewalMs = 0;
  #running: Promise<void> | null = null;
  #timer: Cancel | null = null;

  constructor(
    private readonly store: Store,
    readonly id: string,
    private readonly listener: PresenceListener,
    private readonly onError: (error: unknown) => void,
  ) {}

  /** Writes this instance's row and reads those of the others. */
  async start(): Promise<void> {
    this.#later();
    await this.#turn();
  }

  /** Declares this instance dead, so that another one takes over at once what it could not end or record. */
  async stop(): Promise<void> {
    if (this.#timer === null) return; // the store's only process
    this.#timer();
    await this.#running;
    await Promise.all(this.#reaping.values());
    await this.store.kv.atomic().delete(presenceKey(this.id))
      .set(deathKey(this.id), { by: this.id }).commit();
  }

  /** True for an instance that this process believes to live. */
  isLive(id: string): boolean {
    return id === this.id || this.#others.has(id);
  }

  /** The other instances that this process believes to live. */
  others(): string[] {
    return [...this.#others.keys()];
  }

  #later(): void {
    this.#timer = this.store.clock.after(RENEW_MS, () => {
      this.#sinceRenewalMs += RENEW_MS;
      if (this.#sinceRenewalMs >= ISOLATED_MS) this.listener.isolated();
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
    this.#others.forEach((other, id) => this.#others.set(id, { ...other, stillMs: 0 }));
  }

  async #renewAndLook(): Promise<void> {
    await this.#renew();
    await this.#look();
    for await (
      const { key, value, versionstamp } of this.store.kv.list({
        prefix: deathKey("").slice(0, -1),
      })
    ) {
      this.#follow(String(key.at(-1)), Death(value).by, versionstamp);
    }
  }

  async #renew(): Promise<void> {
    const key = presenceKey(this.id), { kv } = this.store;
    const sets = { renewed_at_ms: this.store.clock.now() };
    const known = this.#versionstamp;
    const beganMs = this.#sinceRenewalMs;
    const op = kv.atomic().set(key, sets);
    // An instance that lives again has released everything. What it holds from now on must not be taken over.
    const result =
      await (known === null ? op.delete(deathKey(this.id)) : op.check({ key, versionstamp: known }))
        .commit();
    if (result.ok) {
      this.#versionstamp = result.versionstamp;
      // The renewal counts from its start: others may have seen the row then.
      this.#sinceRenewalMs -= beganMs;
      return;
    }
    // The reply of an earlier renewal may have been lost. A missing row means that this instance was declared dead.
    const { versionstamp } = await kv.get(key);
    this.#versionstamp = versionstamp;
    if (versionstamp === null) this.listener.isolated();
    await this.#renew();
  }

  async #look(): Promise<void> {
    const present = new Set<string>();
    for await (
      const { key, versionstamp } of this.store.kv.list({ prefix: presenceKey("").slice(0, -1) })
    ) {
      const id = String(key.at(-1));
      if (id === this.id) continue;
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

  /** Takes over from a dead instance, if that is this one's task or its owner died. */
  #follow(id: string, by: string, versionstamp: string): void {
    if (this.#reaping.has(id) || by !== this.id && this.isLive(by)) return;
    const reaping = this.#reap(id, versionstamp)
      .catch((error) => {
        if (!this.store.closing) this.onError(error);
      })
      .finally(() => this.#reaping.delete(id));
    this.#reaping.set(id, reaping);
  }

  async #reap(id: string, versionstamp: string): Promise<void> {
    const key = deathKey(id), { kv } = this.store;
    const claimed = await kv.atomic().check({ key, versionstamp }).set(key, { by: this.id })
      .commit();
    if (!claimed.ok) return;
    await this.listener.reap(id);
    await kv.atomic().check({ key, versionstamp: claimed.versionstamp }).delete(key).commit();
  }
}
