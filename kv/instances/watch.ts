import type { Store } from "../store/store.ts";

/** How long after a broken watch it is opened again. */
const REOPEN_MS = 1_000;

/** Calls listeners when keys were set. It may miss changes, so each listener also needs a sweep. */
export class KeyWatch {
  #reader: ReadableStreamDefaultReader<Deno.KvEntryMaybe<unknown>[]> | null = null;
  #running: Promise<void> = Promise.resolve();
  #stopped = false;

  constructor(
    private readonly store: Store,
    /** The keys, and what to call when each was set and when the watch begins. */
    private readonly watched: () => readonly (readonly [Deno.KvKey, () => void])[],
    private readonly onError: (error: unknown) => void,
  ) {}

  start(): void {
    this.#running = this.#run();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#reader?.cancel().catch(() => {});
    await this.#running;
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      try {
        await this.#watch();
      } catch (error) {
        if (this.#stopped || this.store.closing) return;
        this.onError(error);
      }
      if (!this.#stopped) await this.store.clock.sleep(REOPEN_MS);
    }
  }

  async #watch(): Promise<void> {
    const watched = this.watched();
    const seen: (string | null)[] = watched.map(() => "");
    this.#reader = this.store.kv.watch(watched.map(([key]) => key)).getReader();
    for (;;) {
      const { done, value } = await this.#reader.read();
      if (done) return;
      value.forEach(({ versionstamp }, index) => {
        if (seen[index] === versionstamp) return;
        seen[index] = versionstamp;
        watched[index]![1]();
      });
    }
  }
}
