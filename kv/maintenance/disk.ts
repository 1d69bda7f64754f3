import { statfsSync } from "node:fs";
import { dirname } from "node:path";

/** True when a path exists; a dangling link counts. */
export function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** The size of an embedded store's file with its write-ahead log; a missing file has none. */
export const storeBytes = (kv: string): number => bytesOf(kv) + bytesOf(`${kv}-wal`);

function bytesOf(path: string): number {
  try {
    return Deno.statSync(path).size;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return 0;
    throw error;
  }
}

/** Makes a folder and its parents, and syncs each to disk. */
export function makeFolder(path: string): void {
  if (isThere(path)) return;
  makeFolder(dirname(path));
  // Recursive, so that it does not fail when the folder was made meanwhile.
  Deno.mkdirSync(path, { recursive: true });
  syncFolder(path);
}

/** Syncs a file's content to disk. */
export function syncFile(path: string): void {
  using file = Deno.openSync(path, { write: true });
  file.syncSync();
}

/** Syncs the entry of a new or renamed path in its folder. Windows does so itself and opens no folders. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  using folder = Deno.openSync(dirname(path));
  folder.syncSync();
}

/** Writes all bytes; one `writeSync` may write fewer. */
export function writeAll(file: Pick<Deno.FsFile, "writeSync">, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}

/** Free space of the disk that a folder is on, in bytes. */
export function freeBytes(folder: string): number {
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize;
}
