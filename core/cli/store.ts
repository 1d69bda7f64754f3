import { isThere } from "../../kv/maintenance/disk.ts";
import { openStore } from "../../kv/maintenance/open.ts";
import type { Store } from "../../kv/store/store.ts";
import { isRemote } from "../../kv/maintenance/location.ts";
import { systemClock } from "../ports/system.ts";

/**
 * Opens a store that is there, or a server's, for as long as something takes.
 * @throws {Error} for a store in memory, or none
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

/** The path of an embedded store that is there, or the address of a server's. @throws {Error} like `storePath` */
export const storeLocation = (kv: string | null): string =>
  kv !== null && isRemote(kv) ? kv : storePath(kv);

/**
 * The path of an embedded store that is there.
 * @throws {Error} for a store in memory, of another server, or none
 */
export function storePath(kv: string | null): string {
  const path = embeddedPath(kv);
  if (isThere(path)) return path;
  throw new Error(`there is no store at ${path}: RELAY_KV says where it is`);
}

/** The path of an embedded store, there or not. @throws {Error} for a store in memory or of another server */
export function embeddedPath(kv: string | null): string {
  if (kv === null || kv === ":memory:") {
    throw new Error("RELAY_KV names a store in memory: this needs the path of a store's file");
  }
  if (isRemote(kv)) {
    throw new Error("RELAY_KV names a database server: use what that server has for it");
  }
  return kv;
}
