import { hash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { z } from "zod";
import { atMost } from "./at_most.ts";
import {
  MAX_ARCHIVE_BYTES,
  MAX_BACKUP_ROOTS,
  MAX_CONFIGURATION_FILES,
  MAX_PATH_LENGTH,
} from "./transfers.ts";

/**
 * An agent's configuration as one text of bytes: a line of JSON that describes the files, and the files in
 * that order. The same configuration always makes the same bytes, so one digest names all of it.
 */

/** The root of the entry that the agent itself keeps: its policy file. */
export const POLICY_ROOT = "policy";

const Entry = z.strictObject({
  /** A listed path as given, or `policy`. */
  root: z.string().min(1).max(MAX_PATH_LENGTH),
  /** Below the root, with slashes; empty when the root is the file. */
  path: z.string().max(MAX_PATH_LENGTH),
  mode: z.int().min(0).max(0o777),
  bytes: z.int().min(0),
  sha256: z.string(),
  /** The target of a symbolic link; null for a file. */
  link: z.string().max(MAX_PATH_LENGTH).nullable(),
});
export type ArchiveEntry = z.infer<typeof Entry>;

/** The longest line of JSON before the files: a kilobyte for each, and as much again. */
const HEAD_BYTES_MAX = 2 * 1024 * 1024;
const LABELS_MAX = 16;

const Head = z.strictObject({
  format: z.literal("relay.configuration.v1"),
  settings: z.strictObject({
    name: z.string(),
    labels: atMost(LABELS_MAX, z.record(z.string(), z.string())),
  }),
  /** The listed paths; a restore leaves everything else alone. */
  roots: atMost(MAX_BACKUP_ROOTS, z.array(z.string())),
  entries: atMost(MAX_CONFIGURATION_FILES + 1, z.array(Entry)),
});
export type ArchiveHead = z.infer<typeof Head>;

/** An archive that was read. */
export interface Archive {
  readonly head: ArchiveHead;
  /** The bytes of each entry, in order; empty for a link. */
  readonly contents: readonly Uint8Array[];
}

/** The bytes of an archive. */
export function packArchive({ head, contents }: Archive): Uint8Array<ArrayBuffer> {
  const line = new TextEncoder().encode(`${JSON.stringify(head)}\n`);
  const size = contents.reduce((sum, content) => sum + content.length, line.length);
  const bytes = new Uint8Array(size);
  bytes.set(line);
  let at = line.length;
  for (const content of contents) {
    bytes.set(content, at);
    at += content.length;
  }
  return bytes;
}

/** Reads an archive. @throws {Error} for malformed bytes, or a file that differs from its entry */
export function unpackArchive(bytes: Uint8Array): Archive {
  const end = bytes.indexOf(0x0a);
  if (end < 0) throw new Error("the archive has no head");
  if (end > HEAD_BYTES_MAX) throw new Error("the archive's head is too long");
  const head = Head.parse(JSON.parse(new TextDecoder().decode(bytes.subarray(0, end))));
  let at = end + 1;
  const contents = head.entries.map((entry) => {
    const content = bytes.subarray(at, at += entry.bytes);
    if (content.length !== entry.bytes || hash("sha256", content) !== entry.sha256) {
      throw new Error(`the archive's ${entry.root}/${entry.path} is damaged`);
    }
    return content;
  });
  if (at !== bytes.length) throw new Error("the archive is longer than its head says");
  return { head, contents };
}

/** A name for exactly these files; the policy is not among them, because it has a name of its own. */
export function filesDigest(entries: readonly ArchiveEntry[]): string {
  return hash("sha256", JSON.stringify(entries.filter(({ root }) => root !== POLICY_ROOT)));
}

const zip = promisify(gzip);
const unzip = promisify<Uint8Array, { maxOutputLength: number }, Uint8Array>(gunzip);

/** Compresses an archive, off the event loop. */
export const compress = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await zip(bytes));

/** Decompresses an archive. @throws {Error} for malformed bytes, or more than an archive may have */
export const decompress = async (bytes: Uint8Array): Promise<Uint8Array> =>
  new Uint8Array(await unzip(bytes, { maxOutputLength: MAX_ARCHIVE_BYTES }));
