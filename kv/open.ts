import { dirname } from "node:path";
import type { Clock } from "./clock.ts";
import { migrate } from "./migrations.ts";
import { Store } from "./store.ts";

/** A store and what must be let go with it. */
export interface OpenStore {
  readonly store: Store;
  close(): Promise<void>;
}

/**
 * Opens the store at a path, `:memory:`, a KV Connect URL, or, with `null`, the database that the
 * hosting platform attached. One process owns an embedded file: the lock dies with the process.
 * @throws {Error} when another process has the file, or the schema is newer than this program
 */
export async function openStore(location: string | null, clock: Clock): Promise<OpenStore> {
  const embedded = location !== null && !/^https?:\/\//.test(location);
  const lock = embedded && location !== ":memory:" ? await lockStore(location) : null;
  try {
    const kv = location === null ? await Deno.openKv() : await Deno.openKv(location);
    const store = new Store(kv, { clock, sole: embedded, hasQueue: embedded });
    await migrate(store).catch(async (error) => {
      await store.close();
      throw error;
    });
    return { store, close: () => store.close().finally(() => lock?.close()) };
  } catch (error) {
    lock?.close();
    throw error;
  }
}

/**
 * Takes an embedded store for this process, until the file that it answers is closed.
 * @throws {Error} when another process has it
 */
export async function lockStore(path: string): Promise<Deno.FsFile> {
  await Deno.mkdir(dirname(path), { recursive: true });
  const file = await Deno.open(`${path}.lock`, { create: true, write: true });
  if (await file.tryLock(true)) return file;
  file.close();
  throw new Error(
    `another Relay has the store ${path} open: stop it, give this one another RELAY_KV, ` +
      `or share one database by a KV Connect URL`,
  );
}

/** Whether a process has an embedded store open. */
export async function isOwned(path: string): Promise<boolean> {
  try {
    using file = await Deno.open(`${path}.lock`, { write: true });
    return !await file.tryLock(true);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
