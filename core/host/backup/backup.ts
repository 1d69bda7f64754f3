import { dirname } from "node:path";
import {
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
import { digestFile } from "./digest.ts";
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

/**
 * Writes a backup of the embedded store at `kv` into a new folder, which appears complete or not at all. A relay may
 * serve the store meanwhile; everything it acknowledged before the backup's `taken_at` is included.
 * @throws {Error} when the folder exists, the store is damaged or a secret is missing
 */
export function writeBackup(
  { kv, folder, secrets }: { kv: string; folder: string; secrets: Secrets },
  { clock, entropy }: BackupPorts,
): Manifest {
  mustBeFree(folder);
  const part = `${folder}.part`;
  makeFolder(dirname(folder));
  makePart(part);
  try {
    const manifest = fill(part, kv, secrets, { clock, entropy });
    mustBeFree(folder);
    Deno.renameSync(part, folder);
    syncFolder(folder);
    return manifest;
  } catch (error) {
    try {
      Deno.removeSync(part, { recursive: true });
    } catch {
      // The first error is thrown; the next backup reports the leftover folder.
    }
    throw error;
  }
}

function fill(part: string, kv: string, secrets: Secrets, ports: BackupPorts): Manifest {
  const copy = `${part}/${STORE_FILE}`;
  const takenAtMs = copyStore(kv, copy, ports.clock);
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
  syncFile(copy);
  syncFolder(copy);
  return manifest;
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
