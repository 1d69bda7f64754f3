import type { KeyParts } from "../store/collection.ts";
import { keyHeads } from "../store/iterate.ts";

/** A KV Connect database, opened for reading only. */
export interface StoreServer extends Disposable {
  /** The value of a key, or null. */
  get(key: KeyParts): Promise<unknown>;
  /** For each text that follows the prefix, the first key that begins with it; without the prefix, in order. */
  heads(prefix: KeyParts, limit: number): Promise<KeyParts[]>;
}

/** Opens a KV Connect database for reading. @throws {Error} when it cannot be reached */
export async function openServer(url: string): Promise<StoreServer> {
  const kv = await Deno.openKv(url);
  return {
    async get(key) {
      return (await kv.get(key)).value;
    },
    async heads(prefix, limit) {
      const heads: KeyParts[] = [];
      for await (const head of keyHeads(kv, prefix)) {
        if (heads.push(head) === limit) break;
      }
      return heads;
    },
    [Symbol.dispose]: () => kv.close(),
  };
}
