import { hash } from "node:crypto";
import { Buffer } from "node:buffer";
import { type BlobRef, readBlob, writeBlob } from "../../../kv/store/blob.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import { BLOB_BYTES_MAX } from "../../../kv/engine/engine_limits.ts";
import type { BackupRecord } from "../../../kv/records/backup.ts";
import type { Link } from "../../agents/agents.ts";
import { decryptOnce, encryptOnce, SealError } from "../../codec/codec.ts";
import {
  decompress,
  filesDigest,
  PIECE_BYTES,
  type TransferReply,
  unpackArchive,
} from "../../protocol/protocol.ts";
import type { Context } from "../../context/context.ts";

/** Each archive is encrypted with its own key. */
const KEY_BYTES = 32;

/** Raised when a job has failed for good; the message is shown to users. */
export class JobFailed extends Error {
  override readonly name = "JobFailed";
}

/** Sends something to an agent with `send` and waits for its reply. */
export type Ask = (link: Link, jobId: string, send: () => boolean) => Promise<TransferReply>;

/** An archive whose bytes are in the store, while no record refers to them yet. */
type Fetched =
  & Pick<BackupRecord, "files_sha256" | "bytes" | "stored_bytes" | "files" | "roots" | "blobs">
  & { readonly sha256: string; readonly sealed_key: string };

/**
 * Fetches the configuration of an agent as an archive, checks it, and writes it to the store, encrypted.
 * @throws {JobFailed} when the agent sends anything but a valid archive
 */
export async function fetchArchive(
  { store, sealer, ports }: Pick<Context, "store" | "sealer" | "ports">,
  ask: Ask,
  tenant: Tenant,
  link: Link,
  { id, attempt }: Pick<BackupRecord, "id" | "attempt">,
): Promise<Fetched> {
  const ready = await ask(link, id, () => link.transfer(id, "backup", null, 0));
  if (ready.type !== "transfer_ready") throw new JobFailed("the agent answered out of order");
  const stored = new Uint8Array(ready.stored_bytes);
  for (let offset = 0; offset < stored.length;) {
    const want = { type: "transfer_want", job_id: id, offset } as const;
    const piece = await ask(link, id, () => link.send(want));
    const data = piece.type === "transfer_data" && piece.offset === offset
      ? Buffer.from(piece.data, "base64")
      : null;
    // Pieces must be whole: an agent that sends tiny ones would occupy its slot for ever.
    if (data?.length !== Math.min(PIECE_BYTES, stored.length - offset)) {
      throw new JobFailed("a piece of the archive has the wrong offset or length");
    }
    stored.set(data, offset);
    offset += data.length;
  }
  link.send({ type: "transfer_end", job_id: id });
  const archive = await decompress(stored).catch(() => new Uint8Array());
  if (archive.length !== ready.bytes || hash("sha256", archive) !== ready.sha256) {
    throw new JobFailed("the archive does not match the digest that the agent gave");
  }
  const { entries, roots } = headOf(archive);
  const key = ports.entropy.bytes(KEY_BYTES);
  const encrypted = encryptOnce(key, stored);
  const blobs: BlobRef[] = [];
  for (let at = 0; at < encrypted.length; at += BLOB_BYTES_MAX) {
    const part = encrypted.subarray(at, at + BLOB_BYTES_MAX);
    blobs.push(await writeBlob(store, tenant, `${id}.${attempt}.${blobs.length}`, part));
  }
  return {
    sha256: ready.sha256,
    files_sha256: filesDigest(entries),
    bytes: archive.length,
    stored_bytes: stored.length,
    files: entries.length,
    roots,
    blobs,
    sealed_key: sealer.seal(Buffer.from(key).toString("base64url"), id),
  };
}

function headOf(archive: Uint8Array) {
  try {
    return unpackArchive(archive).head;
  } catch {
    throw new JobFailed("the archive is not one of a configuration");
  }
}

/** Reads and decrypts the archive of a backup, still compressed. @throws {JobFailed} */
export async function readArchive(
  { store, sealer }: Pick<Context, "store" | "sealer">,
  tenant: Tenant,
  { id, blobs }: BackupRecord,
  sealedKey: string,
): Promise<Uint8Array> {
  const parts = [];
  for (const blob of blobs) {
    const part = await readBlob(store, tenant, blob);
    if (part === null) throw new JobFailed("the backup was deleted");
    parts.push(part);
  }
  try {
    const key = Buffer.from(sealer.open(sealedKey, id), "base64url");
    return decryptOnce(key, Buffer.concat(parts));
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    throw new JobFailed(`the backup cannot be decrypted: ${error.message}`);
  }
}
