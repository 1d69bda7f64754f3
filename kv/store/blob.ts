import { z } from "zod";
import { deleteKey, setKey } from "./change.ts";
import { collection, type Tenant } from "./collection.ts";
import { StoreUnavailableError } from "../engine/errors.ts";
import { BLOB_BYTES_MAX, CHUNK_BYTES } from "../engine/engine_limits.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

/** Refers to a value that is too large for a record. */
export const BlobRef = z.strictObject({ id: z.string(), bytes: z.int(), chunks: z.int() });
export type BlobRef = z.infer<typeof BlobRef>;

const Orphan = z.strictObject({ ...BlobRef.shape, at_ms: z.number() });

/** Blobs that no record refers to yet. A sweep deletes those that a crash left. */
const orphans = collection({
  name: "blob_orphans",
  schema: Orphan,
  queue: { age: (orphan) => [orphan.at_ms] },
});

const ORPHAN_AGE_MS = 60 * 60 * 1000;
const SWEEP_LIMIT = 64;

const chunkKey = (
  tenant: Tenant,
  id: string,
  n: number,
) => [tenant.org, tenant.space, "blob", id, n];

/**
 * Writes a large value in chunks, before the record that will refer to it.
 * @throws {RangeError} above BLOB_BYTES_MAX
 */
export async function writeBlob(
  store: Store,
  tenant: Tenant,
  id: string,
  bytes: Uint8Array,
  /** How long the engine keeps the chunks, in ms; without it they stay. */
  expireIn?: number,
): Promise<BlobRef> {
  if (bytes.length > BLOB_BYTES_MAX) {
    throw new RangeError(`a blob has ${bytes.length} bytes; the limit is ${BLOB_BYTES_MAX}`);
  }
  const ref = { id, bytes: bytes.length, chunks: Math.ceil(bytes.length / CHUNK_BYTES) };
  await store.transact((tx) => tx.put(orphans, tenant, { ...ref, at_ms: store.clock.now() }));
  for (let n = 0; n < ref.chunks; n++) {
    const value = bytes.slice(n * CHUNK_BYTES, (n + 1) * CHUNK_BYTES);
    const chunk = setKey(chunkKey(tenant, id, n), value, value.length, expireIn);
    await store.transact((tx) => tx.stage(chunk));
  }
  return ref;
}

/**
 * Hands the chunks over to the record that this transaction writes.
 * @throws {StoreUnavailableError} when they were swept meanwhile, because the clock jumped or the process slept
 */
export async function adoptBlob(tx: Tx, tenant: Tenant, ref: BlobRef): Promise<void> {
  if (await tx.get(orphans, tenant, ref.id) === null) {
    throw new StoreUnavailableError(`the chunks of ${ref.id} are gone`);
  }
  tx.delete(orphans, tenant, ref.id);
}

/** Deletes the chunks together with the record that referred to them. */
export function dropBlob(tx: Tx, tenant: Tenant, ref: BlobRef): void {
  for (let n = 0; n < ref.chunks; n++) tx.stage(deleteKey(chunkKey(tenant, ref.id, n)));
}

/** The whole value, or null when it was dropped. */
export async function readBlob(
  store: Store,
  tenant: Tenant,
  ref: BlobRef,
): Promise<Uint8Array | null> {
  const out = new Uint8Array(ref.bytes);
  for (let n = 0; n < ref.chunks; n++) {
    const { value } = await store.kv.get<Uint8Array>(chunkKey(tenant, ref.id, n));
    if (value === null) return null;
    out.set(value, n * CHUNK_BYTES);
  }
  return out;
}

/** Deletes blobs that no record refers to after an hour. Returns how many. */
export async function sweepBlobs(store: Store): Promise<number> {
  const before = [store.clock.now() - ORPHAN_AGE_MS];
  const { items } = await store.queued(orphans, "age", { limit: SWEEP_LIMIT, before });
  for (const { tenant, record } of items) {
    await store.transact(async (tx) => {
      if (await tx.get(orphans, tenant, record.id) === null) return;
      dropBlob(tx, tenant, record);
      tx.delete(orphans, tenant, record.id);
    });
  }
  return items.length;
}
