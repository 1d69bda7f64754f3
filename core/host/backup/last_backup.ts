import { z } from "zod";
import { syncFolder, writeAll } from "../../../kv/maintenance/disk.ts";
import { isFile } from "../../../kv/maintenance/location.ts";
import type { Manifest } from "./manifest.ts";

/**
 * The file that says when an embedded store was last backed up. It is beside the store, because only one process may
 * write into a store, and a relay may start or stop during a backup.
 */
const noteOf = (kv: string): string => `${kv}.last-backup`;

const Note = z.strictObject({
  /** The history that was backed up: the note of a store that was replaced says nothing about the present one. */
  epoch: z.string(),
  /** ISO 8601, UTC. */
  taken_at: z.iso.datetime(),
});

/** Notes a complete backup beside its store. The caller holds the lock of the store's backups, so it is the newest. */
export function noteBackup(kv: string, { epoch, taken_at }: Manifest): void {
  const part = `${noteOf(kv)}.new`;
  using file = Deno.openSync(part, { write: true, create: true, truncate: true, mode: 0o600 });
  writeAll(file, new TextEncoder().encode(`${JSON.stringify({ epoch, taken_at })}\n`));
  file.syncSync();
  Deno.renameSync(part, noteOf(kv));
  syncFolder(kv);
}

/**
 * When the newest complete backup of a store with this epoch was taken, as ISO 8601; null without one, undefined for
 * a store that `relay backup` does not copy.
 */
export function lastBackupOf(kv: string | null, epoch: string): string | null | undefined {
  if (!isFile(kv)) return undefined;
  try {
    const note = Note.parse(JSON.parse(Deno.readTextFileSync(noteOf(kv))));
    return note.epoch === epoch ? note.taken_at : null;
  } catch {
    // No note, or one that cannot be read: no backup is known.
    return null;
  }
}
