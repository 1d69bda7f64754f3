import { isThere } from "../../kv/disk.ts";
import { isRemote } from "../settings.ts";

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
