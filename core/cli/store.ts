import { isThere } from "../../kv/maintenance/disk.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import type { Store } from "../../kv/store/store.ts";
import { isRemote } from "../../kv/maintenance/location.ts";
import { systemClock } from "../ports/ports.ts";

/**
 * Opens an existing store, or that of a server, while `work` runs.
 * @throws {Error} when the store is in memory or missing
 */
export async function withStore<R>(
  kv: string | null,
  work: (store: Store) => Promise<R>,
): Promise<R> {
  const opened = await openStore(storeLocation(kv), systemClock);
  try {
    return await work(opened.store);
  } finally {
    await opened.close();
  }
}

/** The path of an existing embedded store, or a server's address. @throws {Error} like `storePath` */
export const storeLocation = (kv: string | null): string =>
  kv !== null && isRemote(kv) ? kv : storePath(kv);

/**
 * The path of an existing embedded store.
 * @throws {Error} when the store is in memory, on a server or missing
 */
export function storePath(kv: string | null): string {
  const path = embeddedPath(kv);
  if (isThere(path)) return path;
  throw new Error(`there is no store at ${path}: set RELAY_KV to its path`);
}

/** The path of an embedded store, existing or not. @throws {Error} when it is in memory or on a server */
export function embeddedPath(kv: string | null): string {
  if (kv === null || kv === ":memory:") {
    throw new Error("RELAY_KV names a store in memory: this command needs the path of a store");
  }
  if (isRemote(kv)) {
    throw new Error("RELAY_KV names a database server: use that server's own tools");
  }
  return kv;
}
