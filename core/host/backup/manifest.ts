import { z } from "zod";
import { refuseNewer } from "../../../kv/maintenance/migrations.ts";
import { canonicalJson, constantTimeEqual, makeSealer, type Sealer } from "../../codec/codec.ts";
import type { Entropy } from "../../ports/ports.ts";
import type { Secrets } from "../secrets/file.ts";

/** The only format of a backup: a folder with these two files. */
export const FORMAT = 1;
export const STORE_FILE = "relay.kv";
export const MANIFEST_FILE = "manifest.json";
/** The largest manifest that Relay writes is far smaller. */
const MANIFEST_BYTES_MAX = 16 * 1024;

/** The description of a backup. */
export const Manifest = z.strictObject({
  format: z.literal(FORMAT),
  /** The version of the program that wrote it. */
  relay: z.string(),
  schema: z.int().min(0),
  /** Fingerprints of every secret that its texts may be sealed with, newest first. */
  secret_fingerprints: z.array(z.string()).min(1),
  /** The epoch of its logs. */
  epoch: z.string(),
  /** Everything acknowledged before this instant is in it. ISO 8601, UTC. */
  taken_at: z.iso.datetime(),
  /** The versionstamp of its newest commit. */
  versionstamp: z.string().regex(/^[0-9a-f]{20}$/),
  bytes: z.int().positive(),
  sha256: z.string().regex(/^[0-9a-f]{64}$/),
});
export type Manifest = z.infer<typeof Manifest>;

const Signed = Manifest.extend({ mac: z.string() });

/** One sealer for each secret: a manifest is signed with one of them. */
export const sealersOf = (
  { secret, olderSecrets }: Secrets,
  entropy: Pick<Entropy, "bytes">,
): Sealer[] => [secret, ...olderSecrets].map((each) => makeSealer(each, entropy));

/**
 * The sealer for the newest of the fingerprints.
 * @throws {Error} when the secret of any of them is missing
 */
export function signerOf(
  what: string,
  fingerprints: readonly string[],
  sealers: readonly Sealer[],
): Sealer {
  const found = fingerprints.map((each) => sealers.find((sealer) => sealer.recognizes(each)));
  if (found[0] !== undefined && !found.includes(undefined)) return found[0];
  throw new Error(
    `${what} was sealed with another secret: give that one in RELAY_SECRET, or, when it was in a ` +
      "file, put that file beside the store; one that was in force before goes in RELAY_SECRET_OLD",
  );
}

/** The size of a backup's file. @throws {Error} when it is missing or not a regular file */
export function sizeInBackup(folder: string, name: string): number {
  try {
    const { isFile, size } = Deno.statSync(`${folder}/${name}`);
    if (isFile) return size;
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  }
  throw new Error(`${folder} is not a complete backup: it has no file ${name}`);
}

/** The text of a manifest, signed with the secret so that only its owner can change the backup. */
export function encodeManifest(manifest: Manifest, signer: Sealer): string {
  return `${JSON.stringify({ ...manifest, mac: macOf(manifest, signer) }, null, 2)}\n`;
}

/**
 * Reads the manifest of a backup that this program can restore with these secrets.
 * @throws {Error} that says what is wrong with it
 */
export function readManifest(folder: string, sealers: readonly Sealer[]): Manifest {
  const { mac, ...manifest } = parse(folder, readText(folder));
  refuseNewer(`the backup ${folder}`, manifest.schema);
  const signer = signerOf(`the backup ${folder}`, manifest.secret_fingerprints, sealers);
  if (constantTimeEqual(mac, macOf(manifest, signer))) return manifest;
  throw new Error(`the manifest of the backup ${folder} was altered: restore another backup`);
}

/** The manifest of a complete backup, whoever signed it; null for anything else. */
export function manifestIn(folder: string): Manifest | null {
  try {
    const { mac: _mac, ...manifest } = parse(folder, readText(folder));
    return manifest;
  } catch {
    return null;
  }
}

function macOf(manifest: Manifest, signer: Sealer): string {
  const text = `backup manifest ${canonicalJson(manifest)}`;
  return signer.mac(text).toBase64({ alphabet: "base64url", omitPadding: true });
}

function readText(folder: string): string {
  if (sizeInBackup(folder, MANIFEST_FILE) <= MANIFEST_BYTES_MAX) {
    return Deno.readTextFileSync(`${folder}/${MANIFEST_FILE}`);
  }
  throw new Error(`${folder} is not a backup: its ${MANIFEST_FILE} is too large`);
}

function parse(folder: string, text: string): z.infer<typeof Signed> {
  let value: unknown = null;
  try {
    value = JSON.parse(text);
  } catch {
    // Reported below: a truncated manifest does not match the schema.
  }
  const { format } = z.object({ format: z.int() }).safeParse(value).data ?? {};
  if (format !== undefined && format > FORMAT) {
    throw new Error(`the backup ${folder} has the format ${format}: start a newer Relay`);
  }
  const result = Signed.safeParse(value);
  if (result.success) return result.data;
  throw new Error(`the manifest of the backup ${folder} is damaged: restore another backup`);
}
