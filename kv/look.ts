import type { KeyParts } from "./collection.ts";

/** A database of another server, to ask without changing it. */
export interface ServerLook {
  /** The value of a key, or null. */
  get(key: KeyParts): Promise<unknown>;
  /** Keys under a prefix, in order, without the prefix. */
  keys(prefix: KeyParts, limit: number): Promise<KeyParts[]>;
  close(): void;
}

/** Looks into a database of another server. @throws {Error} when it cannot be reached */
export async function lookAtServer(url: string): Promise<ServerLook> {
  const kv = await Deno.openKv(url);
  return {
    async get(key) {
      return (await kv.get(key)).value;
    },
    async keys(prefix, limit) {
      const entries = await Array.fromAsync(kv.list({ prefix }, { limit }));
      return entries.map(({ key }) => key.slice(prefix.length) as KeyParts);
    },
    close: () => kv.close(),
  };
}
