import { digestFile } from "./digest.ts";
import {
  type Manifest,
  readManifest,
  type sealersOf,
  sizeInBackup,
  STORE_FILE,
} from "./manifest.ts";

/**
 * Checks that a backup is what was written and can be restored with these secrets. It reads all of it.
 * @throws {Error} that says what is wrong with it
 */
export function checkBackup(folder: string, sealers: ReturnType<typeof sealersOf>): Manifest {
  const manifest = readManifest(folder, sealers);
  mustBeWhole(folder, sizeInBackup(folder, STORE_FILE), manifest);
  copyChecked(folder, manifest);
  return manifest;
}

/** @throws {Error} when the size does not match the manifest */
export function mustBeWhole(folder: string, bytes: number, manifest: Manifest): void {
  if (bytes === manifest.bytes) return;
  throw new Error(
    `the backup ${folder} has the wrong size: ${STORE_FILE} has ${bytes} bytes, ${manifest.bytes} were ` +
      "written. Restore another backup",
  );
}

/**
 * Reads the store of a backup, and copies it into a file if one is given.
 * @throws {Error} when its bytes do not match the manifest
 */
export function copyChecked(folder: string, manifest: Manifest, into?: Deno.FsFile): void {
  const { bytes, sha256 } = digestFile(`${folder}/${STORE_FILE}`, into);
  mustBeWhole(folder, bytes, manifest);
  if (sha256 === manifest.sha256) return;
  throw new Error(
    `the backup ${folder} was altered: ${STORE_FILE} is not what was written. Restore another backup`,
  );
}
