import { dirname } from "node:path";
import {
  freeBytes,
  isThere,
  makeFolder,
  syncFile,
  syncFolder,
  writeAll,
} from "../../../kv/maintenance/disk.ts";
import { openFile, type StoreFile } from "../../../kv/maintenance/file.ts";
import { refuseNewer, SCHEMA_KEY } from "../../../kv/maintenance/migrations.ts";
import { InstallationRecord } from "../../../kv/records/installation.ts";
import { VERSION } from "../../protocol/protocol.ts";
import { iso } from "../../codec/codec.ts";
import type { Clock, Entropy } from "../../ports/ports.ts";
import type { Secrets } from "../secrets/file.ts";
import { checkBackup } from "./check.ts";
import { digestFile } from "./digest.ts";
import { FREE_BYTES_MIN, mib } from "./findings.ts";
import {
  encodeManifest,
  FORMAT,
  type Manifest,
  MANIFEST_FILE,
  sealersOf,
  signerOf,
  STORE_FILE,
} from "./manifest.ts";
import { INSTALLATION_KEY } from "./stored.ts";

/** The ports that a backup needs. */
export interface BackupPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/** What to back up. */
export interface BackupSource {
  /** The path of the embedded store. */
  readonly kv: string;
  readonly secrets: Secrets;
}

/**
 * Writes a backup of an embedded store into a new folder, which appears complete and checked or not at all. A relay may
 * serve the store meanwhile; everything it acknowledged before the backup's `taken_at` is included.
 * @throws {Error} when the folder exists, the store is damaged, a secret is missing or there is no room
 */
export function writeBackup(
  { folder, ...source }: BackupSource & { readonly folder: string },
  ports: BackupPorts,
): Manifest {
  mustBeFree(folder);
  makeFolder(dirname(folder));
  return makeBackup(`${folder}.part`, source, ports, () => folder);
}

/**
 * Makes a backup in the folder `part`, which gets the name that `place` returns when everything is in it.
 * @throws {Error} like `writeBackup`; then `part` is gone
 */
export function makeBackup(
  part: string,
  { kv, secrets }: BackupSource,
  ports: BackupPorts,
  place: (manifest: Manifest) => string,
): Manifest {
  mustHaveRoom(dirname(part), kv);
  makePart(part);
  try {
    const manifest = fill(part, kv, secrets, ports);
    const folder = place(manifest);
    mustBeFree(folder);
    Deno.renameSync(part, folder);
    syncFolder(folder);
    return manifest;
  } catch (error) {
    try {
      Deno.removeSync(part, { recursive: true });
    } catch {
      // The first error is thrown; the next backup reports the leftover folder or removes it.
    }
    throw error;
  }
}

/** A copy must not fill the disk: on that of the store, the relay could not write any more. */
function mustHaveRoom(folder: string, kv: string): void {
  using file = openFile(kv);
  const { bytes, freeBytes: unused } = file.size();
  const shared = Deno.statSync(folder).dev === Deno.statSync(kv).dev;
  const needed = bytes - unused + (shared ? FREE_BYTES_MIN : 0);
  const free = freeBytes(folder);
  if (free >= needed) return;
  throw new Error(
    `there is no room for a backup in ${folder}: ${mib(free)} are free, ${mib(needed)} are needed` +
      (shared ? `, of which the store on the same disk keeps ${mib(FREE_BYTES_MIN)}` : ""),
  );
}

function fill(part: string, kv: string, secrets: Secrets, ports: BackupPorts): Manifest {
  const copy = `${part}/${STORE_FILE}`;
  const takenAtMs = copyStore(kv, copy, ports.clock);
  syncFile(copy);
  const { versionstamp, schema, installation } = readCopy(kv, copy);
  const { secret_fingerprints, epoch } = installation;
  const sealers = sealersOf(secrets, ports.entropy);
  const signer = signerOf(`the store ${kv}`, secret_fingerprints, sealers);
  const manifest: Manifest = {
    format: FORMAT,
    relay: VERSION,
    schema,
    secret_fingerprints,
    epoch,
    taken_at: iso(takenAtMs),
    versionstamp,
    ...digestFile(copy),
  };
  writeText(`${part}/${MANIFEST_FILE}`, encodeManifest(manifest, signer));
  syncFolder(copy);
  return checkBackup(part, sealers);
}

/** Copies what is committed. Returns an instant in ms: everything committed before it is in the copy. */
function copyStore(kv: string, copy: string, clock: Clock): number {
  try {
    using file = openFile(kv);
    // Check before copying: the copy gets new indexes, and the old ones may be the only sign of lost rows.
    mustBeSound("it", file);
    const takenAtMs = clock.now();
    file.copyInto(copy);
    Deno.chmodSync(copy, 0o600);
    return takenAtMs;
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`the store ${kv} was not copied: ${why}: see \`relay doctor\``, { cause });
  }
}

/** Reads the copy's versionstamp, schema and installation. */
function readCopy(kv: string, copy: string) {
  using file = openFile(copy);
  mustBeSound(`the copy of ${kv}`, file);
  const schema = file.get(SCHEMA_KEY);
  if (typeof schema === "number") refuseNewer(`the store ${kv}`, schema);
  const installation = file.get(INSTALLATION_KEY);
  if (typeof schema !== "number" || installation === null) {
    throw new Error(`there is nothing in ${kv} yet: a relay has never started with it`);
  }
  return {
    versionstamp: file.versionstamp(),
    schema,
    installation: InstallationRecord.parse(installation),
  };
}

function mustBeSound(what: string, file: StoreFile): void {
  const faults = file.faults();
  if (faults.length > 0) throw new Error(`${what} is damaged: ${faults.join("; ")}`);
}

/** Makes a folder that only its owner may enter. @throws {Error} when it exists: another backup may be writing into it */
function makePart(part: string): void {
  try {
    Deno.mkdirSync(part, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Error(
      `${part} exists: another backup is being written, or an interrupted one left it and it can be removed`,
    );
  }
}

function mustBeFree(folder: string): void {
  if (isThere(folder)) throw new Error(`${folder} exists already: name a new folder`);
}

function writeText(path: string, text: string): void {
  using file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  writeAll(file, new TextEncoder().encode(text));
  file.syncSync();
}
