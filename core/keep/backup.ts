import { dirname } from "node:path";
import { openFile } from "../../kv/file.ts";
import { VERSION } from "../app.ts";
import { iso } from "../lists.ts";
import type { Clock, Entropy } from "../ports.ts";
import { type Secrets, syncFolder } from "../secrets/file.ts";
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
import { STORED_KEYS, storedOf } from "./stored.ts";

/** The doors that a backup needs. */
export interface KeepPorts {
  readonly clock: Clock;
  readonly entropy: Entropy;
}

/**
 * Writes a backup of the embedded store at `kv` into a new folder, which is there whole or not at all. A relay
 * may serve the store meanwhile: what it acknowledged before the backup's `taken_at` is in it.
 * @throws {Error} when the folder is there already, the store is damaged or a secret is missing
 */
export function writeBackup(
  { kv, folder, secrets }: { kv: string; folder: string; secrets: Secrets },
  { clock, entropy }: KeepPorts,
): Manifest {
  refuseTaken(folder);
  const part = `${folder}.part`;
  Deno.mkdirSync(dirname(folder), { recursive: true });
  makePart(part);
  try {
    const manifest = fill(part, kv, secrets, { clock, entropy });
    refuseTaken(folder);
    Deno.renameSync(part, folder);
    syncFolder(folder);
    return manifest;
  } catch (error) {
    Deno.removeSync(part, { recursive: true });
    throw error;
  }
}

function fill(part: string, kv: string, secrets: Secrets, ports: KeepPorts): Manifest {
  const copy = `${part}/${STORE_FILE}`;
  const takenAtMs = ports.clock.now();
  copyStore(kv, copy);
  Deno.chmodSync(copy, 0o600);
  const { versionstamp, stored } = withFile(copy, (file) => {
    const faults = file.faults();
    if (faults.length > 0) throw new Error(`the store ${kv} is damaged: ${faults.join("; ")}`);
    const [schema, installation] = [STORED_KEYS.schema, STORED_KEYS.installation].map(file.get);
    return {
      versionstamp: file.versionstamp(),
      stored: storedOf(`the store ${kv}`, schema, installation),
    };
  });
  if (stored === null) {
    throw new Error(`there is nothing in ${kv} yet: a relay has never started with it`);
  }
  const { schema, installation: { secret_fingerprints, epoch } } = stored;
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
  using file = Deno.openSync(copy, { write: true });
  file.syncSync();
  syncFolder(copy);
  return manifest;
}

function copyStore(kv: string, copy: string): void {
  try {
    withFile(kv, (file) => file.copyInto(copy));
  } catch (cause) {
    const why = (cause as Error).message;
    throw new Error(`the store ${kv} was not copied: ${why}: see \`relay doctor\``, { cause });
  }
}

/** A folder of the owner's only. @throws {Error} when it is there: somebody else may be writing in it */
function makePart(part: string): void {
  try {
    Deno.mkdirSync(part, { mode: 0o700 });
  } catch (error) {
    if (!(error instanceof Deno.errors.AlreadyExists)) throw error;
    throw new Error(
      `${part} is there: another backup is being written, or one was cut off and it can be removed`,
    );
  }
}

function refuseTaken(folder: string): void {
  try {
    Deno.lstatSync(folder);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return;
    throw error;
  }
  throw new Error(`${folder} is there already: name a new folder`);
}

function withFile<R>(path: string, use: (file: ReturnType<typeof openFile>) => R): R {
  const file = openFile(path);
  try {
    return use(file);
  } finally {
    file.close();
  }
}

function writeText(path: string, text: string): void {
  using file = Deno.openSync(path, { write: true, createNew: true, mode: 0o600 });
  file.writeSync(new TextEncoder().encode(text));
  file.syncSync();
}
