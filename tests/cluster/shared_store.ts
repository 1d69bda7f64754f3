import { setImmediate } from "node:timers";
import { kvOver, MemoryKv } from "../simulation/memory_kv.ts";
import { strictKv } from "../support/kv.ts";
import { findDenokv, startDenokv } from "./denokv.ts";
import { watchedKv } from "./watched_kv.ts";

/** A store for several instances of a test. */
export interface SharedStore {
  readonly kv: Deno.Kv;
  /** What each instance opens. */
  readonly opened: Deno.Kv;
  close(): Promise<void>;
}

/** Opens one in memory. */
export function openMemoryStore(): SharedStore {
  const kv = kvOver(new MemoryKv(), "shared", nextTurn, (deliver) => deliver());
  return { kv, opened: watchedKv(strictKv(kv)), close: async () => {} };
}

/** Opens one over a denokv server of its own. */
export async function openDenokvStore(): Promise<SharedStore> {
  const folder = await Deno.makeTempDir({ prefix: "relay-test-" });
  const server = await startDenokv((await findDenokv())!, `${folder}/kv.sqlite`);
  const kv = await Deno.openKv(server.url);
  return {
    kv,
    opened: watchedKv(kv),
    async close() {
      kv.close();
      await server.kill();
      await Deno.remove(folder, { recursive: true });
    },
  };
}

/** Makes a call at once and answers it in the next turn of the event loop. */
const nextTurn = <R>(effect: () => R): Promise<R> =>
  new Promise((resolve, reject) => {
    try {
      const result = effect();
      setImmediate(() => resolve(result));
    } catch (error) {
      reject(error);
    }
  });
