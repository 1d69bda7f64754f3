import { createHash } from "node:crypto";
import { writeAll } from "../../../kv/maintenance/disk.ts";

const CHUNK_BYTES = 1024 * 1024;

/** The size of a file and the SHA-256 of its bytes, hexadecimal. */
export interface Digest {
  readonly bytes: number;
  readonly sha256: string;
}

/** Digests a file, and copies it into another one if given. */
export function digestFile(path: string, into?: Deno.FsFile): Digest {
  using file = Deno.openSync(path);
  const hash = createHash("sha256");
  const chunk = new Uint8Array(CHUNK_BYTES);
  let bytes = 0;
  for (let read; (read = file.readSync(chunk)) !== null; bytes += read) {
    const part = chunk.subarray(0, read);
    hash.update(part);
    if (into !== undefined) writeAll(into, part);
  }
  return { bytes, sha256: hash.digest("hex") };
}
