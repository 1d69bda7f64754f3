import type { Cancel } from "../store/clock.ts";
import type { Store } from "../store/store.ts";

/** How long after a broken watch it is opened again. */
const REOPEN_MS = 1_000;
/** How often the keys are read, because a watch may miss changes, or stall in silence. */
const SWEEP_MS = 5_000;

/** Calls listeners when keys were set: at once, or after SWEEP_MS when the watch missed it. */
export class KeyWatch {
  #reader: ReadableStreamDefaultReader<Deno.KvEntryMaybe<unknown>[]> | null = null;
  #running: Promise<void> = Promise.resolve();
  /** The versionstamps that the listeners know. */
  #seen: (string | null)[] = [];
  #watched: readonly (readonly [Deno.KvKey, () => void])[] = [];
  #timer: Cancel | null = null;
  #sweeping: Promise<void> | null = null;
  #stopped = false;
  /** True when the watch was closed to be opened again at once. */
  #reopening = false;

  constructor(
    private readonly store: Store,
    /** The keys, and what to call when each was set and when the watch begins. */
    private readonly watched: () => readonly (readonly [Deno.KvKey, () => void])[],
    private readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    this.#watched = this.watched();
    this.#seen = this.#watched.map(() => "");
    this.#running = this.#run();
    this.#sweepLater();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.();
    await this.#reader?.cancel().catch(() => {});
    await this.#running;
    await this.#sweeping;
  }

  /** Opens the watch again and reads the keys: after an outage of the store a watch may stay silent for long. */
  reopen(): void {
    this.#reopening = true;
    this.#reader?.cancel().catch(() => {});
    this.#sweep();
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#watch();
      } catch (error) {
        this.#failed(error);
      }
      if (!this.#stopped && !this.#reopening) await this.store.clock.sleep(REOPEN_MS);
      this.#reopening = false;
    }
  }

  async #watch(): Promise<void> {
    this.#reader = this.store.kv.watch(this.#keys()).getReader();
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      this.#look(value);
    }
  }

  #sweepLater(): void {
    this.#timer = this.store.clock.after(SWEEP_MS, () => {
      this.#sweepLater();
      this.#sweep();
    });
  }

  #sweep(): void {
    this.#sweeping ??= this.store.kv.getMany(this.#keys())
      .then((entries) => this.#look(entries), (error) => this.#failed(error))
      .finally(() => this.#sweeping = null);
  }

  #keys = () => this.#watched.map(([key]) => key);

  /** A versionstamp older than the known one comes from a read that a newer watch has overtaken. */
  #look(entries: readonly { readonly versionstamp: string | null }[]): void {
    entries.forEach(({ versionstamp }, index) => {
      const seen = this.#seen[index]!;
      if (seen === versionstamp) return;
      if (seen !== null && versionstamp !== null && versionstamp < seen) return;
      this.#seen[index] = versionstamp;
      this.#watched[index]![1]();
    });
  }

  #failed(error: unknown): void {
    if (!this.#stopped && !this.store.closing) this.onError(error);
  }
}
