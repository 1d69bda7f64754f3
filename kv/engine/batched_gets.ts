import { GET_MANY_MAX } from "./engine_limits.ts";

/** A key's value and versionstamp as the engine has them. */
export type RawEntry = Deno.KvEntryMaybe<unknown>;

interface Waiting {
  readonly key: Deno.KvKey;
  resolve(entry: RawEntry): void;
  reject(error: unknown): void;
}

/** Reads of single keys, of which those that begin together make one round trip to a database server. */
export class BatchedGets {
  #waiting: Waiting[] = [];

  constructor(private readonly kv: Deno.Kv) {}

  get(key: Deno.KvKey): Promise<RawEntry> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ key, resolve, reject }) === 1) queueMicrotask(() => this.#send());
    });
  }

  #send(): void {
    const all = this.#waiting;
    this.#waiting = [];
    for (let at = 0; at < all.length; at += GET_MANY_MAX) {
      const batch = all.slice(at, at + GET_MANY_MAX);
      this.kv.getMany<unknown[]>(batch.map(({ key }) => key)).then(
        (entries) => batch.forEach(({ resolve }, index) => resolve(entries[index]!)),
        (error) => batch.forEach(({ reject }) => reject(error)),
      );
    }
  }
}
