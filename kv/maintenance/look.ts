import type { KeyParts } from "../store/collection.ts";
import { keyHeads } from "../store/walk.ts";

/** A database of another server, to ask without changing it. */
export interface ServerLook extends Disposable {
  /** The value of a key, or null. */
  get(key: KeyParts): Promise<unknown>;
  /** The first key for each part, a text, that follows a prefix, in order, without the prefix. */
  heads(prefix: KeyParts, limit: number): Promise<KeyParts[]>;
}

/** Looks into a database of another server. @throws {Error} when it cannot be reached */
export async function lookAtServer(url: string): Promise<ServerLook> {
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
