import { dirname } from "node:path";
import type { AgentTree } from "./port.ts";

/** Files of the system, for backup and restore. */
export const systemTree: AgentTree = {
  look(path) {
    const found = orNull(() => Deno.lstatSync(path));
    if (found === null) return null;
    const { isFile, isDirectory, isSymlink, size, mode } = found;
    const kind = isSymlink ? "link" : isFile ? "file" : isDirectory ? "folder" : "other";
    return { kind, bytes: size, mode: (mode ?? 0o644) & 0o777 };
  },
  list: (path) => [...Deno.readDirSync(path)].map(({ name }) => name).sort(),
  read: (path) => Deno.readFileSync(path),
  readLink: (path) => Deno.readLinkSync(path),
  realPath: (path) => orNull(() => Deno.realPathSync(path)),
  write(path, bytes, mode) {
    Deno.mkdirSync(dirname(path), { recursive: true });
    const file = Deno.openSync(path, { write: true, create: true, truncate: true, mode: 0o600 });
    try {
      for (let at = 0; at < bytes.length;) at += file.writeSync(bytes.subarray(at));
      file.syncSync();
    } finally {
      file.close();
    }
    if (Deno.build.os !== "windows") Deno.chmodSync(path, mode);
  },
  link(path, target) {
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.symlinkSync(target, path);
  },
  rename: (from, to) => Deno.renameSync(from, to),
  remove: (path) => Deno.removeSync(path),
};

/** Null for what is not there; a file in place of a folder on the way is nothing there, too. */
function orNull<T>(look: () => T): T | null {
  try {
    return look();
  } catch (error) {
    if (error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory) {
      return null;
    }
    throw error;
  }
}
