import { dirname } from "node:path";

/** Whether a path names something; a link that leads nowhere is something too. */
export function isThere(path: string): boolean {
  try {
    Deno.lstatSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}

/** Makes a folder and those above it, each of them on disk. */
export function makeFolder(path: string): void {
  if (isThere(path)) return;
  makeFolder(dirname(path));
  // Recursive only so that it may have appeared meanwhile.
  Deno.mkdirSync(path, { recursive: true });
  syncFolder(path);
}

/** Puts what a file holds on disk. */
export function syncFile(path: string): void {
  using file = Deno.openSync(path, { write: true });
  file.syncSync();
}

/** Puts a name on disk: of a folder or file that was made, or a rename. Windows does so by itself and opens no folders. */
export function syncFolder(path: string): void {
  if (Deno.build.os === "windows") return;
  using folder = Deno.openSync(dirname(path));
  folder.syncSync();
}

/** Writes all of some bytes: a single write may take fewer. */
export function writeAll(file: Deno.FsFile, bytes: Uint8Array): void {
  for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
}
