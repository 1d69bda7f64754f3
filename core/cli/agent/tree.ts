import { createHash } from "node:crypto";
import { dirname } from "node:path";
import type { AgentTree } from "./interfaces.ts";
import { writeAll } from "../../../kv/maintenance/disk.ts";

/** The part of a large file that is in memory at a time. */
const HASHED_BYTES = 1024 * 1024;

/** Files of the system, for backup and restore. */
export const systemTree: AgentTree = {
  look(path) {
    const found = orNull(() => Deno.lstatSync(path));
    if (found === null) return null;
    const { isFile, isDirectory, isSymlink, size, mode, uid } = found;
    const kind = isSymlink ? "link" : isFile ? "file" : isDirectory ? "folder" : "other";
    return { kind, bytes: size, mode: (mode ?? 0o644) & 0o777, owner: uid };
  },
  list: (path) => [...Deno.readDirSync(path)].map(({ name }) => name).sort(),
  read,
  sha256(path) {
    const file = Deno.openSync(path);
    try {
      const hash = createHash("sha256");
      const buffer = new Uint8Array(HASHED_BYTES);
      for (let n = file.readSync(buffer); n !== null; n = file.readSync(buffer)) {
        hash.update(buffer.subarray(0, n));
      }
      return hash.digest("hex");
    } finally {
      file.close();
    }
  },
  readLink: (path) => Deno.readLinkSync(path),
  realPath: (path) => orNull(() => Deno.realPathSync(path)),
  write(path, bytes, mode) {
    Deno.mkdirSync(dirname(path), { recursive: true });
    // Write only to a newly created file, because an existing one may be a link to anywhere.
    const file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
    try {
      writeAll(file, bytes);
      file.syncSync();
    } finally {
      file.close();
    }
    if (Deno.build.os !== "windows") Deno.chmodSync(path, mode);
  },
  create(path, mode) {
    const file = Deno.openSync(path, { write: true, createNew: true, mode });
    return {
      append: (bytes) => writeAll(file, bytes),
      close() {
        file.syncSync();
        file.close();
      },
    };
  },
  link(path, target) {
    Deno.mkdirSync(dirname(path), { recursive: true });
    Deno.symlinkSync(target, path);
  },
  rename: (from, to) => Deno.renameSync(from, to),
  remove: (path) => Deno.removeSync(path),
};

/** Reads a file, and refuses a link that replaced it since it was examined. */
function read(path: string): Uint8Array<ArrayBuffer> {
  const file = Deno.openSync(path);
  try {
    const [opened, found] = [file.statSync(), Deno.lstatSync(path)];
    if (!found.isFile || found.ino !== opened.ino || found.dev !== opened.dev) {
      throw new Error(`${path} is no longer a file`);
    }
    const bytes = new Uint8Array(opened.size);
    let at = 0;
    while (at < bytes.length) {
      const n = file.readSync(bytes.subarray(at));
      if (n === null) break;
      at += n;
    }
    return bytes.slice(0, at);
  } finally {
    file.close();
  }
}

/** Null when the path does not exist, or a file is in place of one of its folders. */
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
