import { openFile } from "../../../kv/maintenance/file.ts";
import { isThere, makeFolder } from "../../../kv/maintenance/disk.ts";
import { InstallationRecord } from "../../../kv/records/installation.ts";
import { isWithin } from "../../../kv/store/clock.ts";
import { type BackupPorts, type BackupSource, makeBackup } from "./backup.ts";
import { type Manifest, MANIFEST_FILE, manifestIn, STORE_FILE } from "./manifest.ts";
import { INSTALLATION_KEY } from "./stored.ts";

/** A backup that was added to a folder. */
export interface Added {
  /** The path of the backup. */
  readonly path: string;
  readonly manifest: Manifest;
  /** How many older backups were removed. */
  readonly removed: number;
  /** Why not all older backups could be removed; null when they could. */
  readonly unremoved: string | null;
}

/**
 * Adds a backup, named after its time, to a folder of backups, and then removes those of the same store that were added
 * longer ago than `keepMs`. The new backup is the newest good one and stays, whatever the clock says. The caller holds
 * the lock of the store's backups.
 * @throws {Error} like `writeBackup`; then nothing is removed
 */
export function addBackup(
  { folder, keepMs, ...source }: BackupSource & {
    readonly folder: string;
    readonly keepMs: number;
  },
  ports: BackupPorts,
): Added {
  makeFolder(folder);
  // Under the lock, a folder of this name is what an interrupted run left.
  const part = `${folder}/${epochOf(source.kv)}.part`;
  remove(part);
  const place = (manifest: Manifest) => `${folder}/${nameOf(manifest)}`;
  const manifest = makeBackup(part, source, ports, place);
  let removed = 0, unremoved: string | null = null;
  try {
    for (const path of expired(folder, manifest, keepMs)) {
      // A name in the folder is that of a complete backup, also after a crash.
      Deno.renameSync(path, part);
      remove(part);
      removed++;
    }
  } catch (error) {
    unremoved = (error as Error).message;
  }
  return { path: place(manifest), manifest, removed, unremoved };
}

/** A backup in a folder. */
type Found = Pick<Added, "path" | "manifest">;

/** The newest backup that was added to a folder, of the store with this epoch; null without one. */
export const newestAdded = (folder: string, epoch: string): string | null =>
  newestIn(folder, epoch)?.path ?? null;

/** When the newest backup of a folder was taken, in ms; null without one, also when there is no such folder. */
export function newestTakenMs(folder: string, epoch: string): number | null {
  const newest = isThere(folder) ? newestIn(folder, epoch) : null;
  return newest && Date.parse(newest.manifest.taken_at);
}

function newestIn(folder: string, epoch: string): Found | null {
  let newest: Found | null = null;
  for (const found of added(folder, epoch)) {
    // Commits have an order that no clock changes.
    if (newest === null || found.manifest.versionstamp > newest.manifest.versionstamp) {
      newest = found;
    }
  }
  return newest;
}

/** The paths of the store's backups that are older than `keepMs` when the newest one was taken. */
function expired(folder: string, newest: Manifest, keepMs: number): string[] {
  const nowMs = Date.parse(newest.taken_at);
  return [...added(folder, newest.epoch)]
    .filter(({ manifest }) => manifest.versionstamp <= newest.versionstamp)
    .filter(({ manifest }) => nameOf(manifest) !== nameOf(newest))
    .filter(({ manifest }) => !isWithin(Date.parse(manifest.taken_at), keepMs, nowMs))
    .map(({ path }) => path);
}

/** The backups that were added to a folder, of the store with this epoch. Renamed ones do not count. */
function* added(folder: string, epoch: string): Generator<Found> {
  for (const { name, isDirectory } of Deno.readDirSync(folder)) {
    const path = `${folder}/${name}`;
    const manifest = isDirectory ? manifestIn(path) : null;
    if (manifest === null || manifest.epoch !== epoch || name !== nameOf(manifest)) continue;
    if (holdsMore(path)) continue;
    yield { path, manifest };
  }
}

const holdsMore = (path: string): boolean =>
  [...Deno.readDirSync(path)].some(({ name }) => name !== STORE_FILE && name !== MANIFEST_FILE);

/** Windows takes no colons. */
const nameOf = ({ taken_at }: Manifest): string => `relay-${taken_at.replaceAll(":", "")}`;

function epochOf(kv: string): string {
  using file = openFile(kv);
  const installation = file.get(INSTALLATION_KEY);
  if (installation !== null) return InstallationRecord.parse(installation).epoch;
  throw new Error(`there is nothing in ${kv} yet: a relay has never started with it`);
}

function remove(part: string): void {
  if (isThere(part)) Deno.removeSync(part, { recursive: true });
}
