import type { Cancel } from "../store/clock.ts";
import type { Store } from "../store/store.ts";

/** A failed takeover runs again after this time. */
const AGAIN_MS = 1_000;

/** The row of a declared death, which names the instance that takes over. */
export const deathKey = (id: string) => ["~", "death", id];
const Death = (value: unknown) => value as { readonly by: string };

interface TakeoverParts {
  readonly store: Store;
  /** This instance. */
  readonly id: string;
  readonly isLive: (instance: string) => boolean;
  /** Takes over what a dead instance held; may run again after a failure. */
  readonly reap: (instance: string) => Promise<void>;
  readonly onError: (error: unknown) => void;
}

/** Takes over from dead instances: for each declared death one instance, and another one if that one dies too. */
export class Takeovers {
  readonly #running = new Map<string, Promise<void>>();
  #again: Cancel | null = null;
  #stopped = false;

  constructor(private readonly parts: TakeoverParts) {}

  /** Begins each takeover that is this instance's turn and does not run yet. */
  async look(): Promise<void> {
    const prefix = deathKey("").slice(0, -1);
    for await (const { key, value, versionstamp } of this.parts.store.kv.list({ prefix })) {
      this.#follow(String(key.at(-1)), Death(value).by, versionstamp);
    }
  }

  /** Begins nothing from now on, and waits for what runs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#again?.();
    await Promise.all(this.#running.values());
  }

  #follow(id: string, by: string, versionstamp: string): void {
    const { id: own, isLive } = this.parts;
    if (this.#stopped || this.#running.has(id) || by !== own && isLive(by)) return;
    const running = this.#takeOver(id, versionstamp)
      .catch((error) => this.#failed(error))
      .finally(() => this.#running.delete(id));
    this.#running.set(id, running);
  }

  async #takeOver(id: string, versionstamp: string): Promise<void> {
    const { store: { kv }, id: by, reap } = this.parts;
    const key = deathKey(id);
    const claimed = await kv.atomic().check({ key, versionstamp }).set(key, { by }).commit();
    if (!claimed.ok) return;
    await reap(id);
    await kv.atomic().check({ key, versionstamp: claimed.versionstamp }).delete(key).commit();
  }

  /** Looks again soon: the next turn of an instance may be far away. */
  #failed(error: unknown): void {
    const { store, onError } = this.parts;
    if (store.closing) return;
    onError(error);
    if (this.#stopped) return;
    this.#again ??= store.clock.after(AGAIN_MS, () => {
      this.#again = null;
      this.look().catch((error) => this.#failed(error));
    });
  }
}
