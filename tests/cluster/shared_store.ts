import { strictKv } from "../support/kv.ts";
import { findDenokv, startDenokv } from "./parts.ts";
import { watchedKv } from "./watched_kv.ts";

/** A store for several instances of a test. */
export interface SharedStore {
  readonly kv: Deno.Kv;
  /** What each instance opens. */
  readonly opened: Deno.Kv;
  close(): Promise<void>;
}

/** Opens one in memory, or over a denokv server of its own when RELAY_TEST_DENOKV is set. */
export async function openSharedStore(): Promise<SharedStore> {
  if (Deno.env.get("RELAY_TEST_DENOKV") === undefined) {
    const kv = await Deno.openKv(":memory:");
    return { kv, opened: watchedKv(strictKv(kv)), close: async () => kv.close() };
  }
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
