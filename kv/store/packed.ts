import type { Appending } from "../log/appends.ts";
import type { Tenant } from "./collection.ts";
import { coalescedLine } from "./coalesced.ts";
import type { Store } from "./store.ts";

const decoder = new TextDecoder();

/** Records put within this time share one instant, so that one commit makes one value of them. */
const PACK_MS = 64;
const instantOf = (ms: number): number => ms - ms % PACK_MS;

/** Records whose expiry falls within the same span share a value, which the engine removes whole. */
const EXPIRY_SPAN_MS = 60 * 60 * 1000;

const packedKey = (tenant: Tenant, name: string) => [tenant.org, tenant.space, `${name}=`];

/**
 * Adds a record that never changes again to the value that all callers of the commit share. A reader finds
 * it by its id among the values of the time at which it may have been put, so a record that ends soon after
 * it began needs neither a row nor an index.
 */
export function putPacked(
  to: Appending,
  tenant: Tenant,
  name: string,
  { json, nowMs, expireIn }: { json: string; nowMs: number; expireIn: number },
): void {
  const keptMs = Math.ceil(expireIn / EXPIRY_SPAN_MS) * EXPIRY_SPAN_MS;
  to.coalesce(coalescedLine([...packedKey(tenant, name), instantOf(nowMs), keptMs], json, keptMs));
}

/** The JSON of the record whose text begins with `start` and that was put between two instants in ms. */
export async function findPacked(
  store: Store,
  tenant: Tenant,
  name: string,
  start: string,
  [fromMs, toMs]: readonly [number, number],
): Promise<string | null> {
  const key = packedKey(tenant, name);
  const range = { start: [...key, instantOf(fromMs)], end: [...key, toMs] };
  for await (const { value } of store.kv.list<Uint8Array>(range, { batchSize: 16 })) {
    const found = decoder.decode(value).split("\n").find((line) => line.startsWith(start));
    if (found !== undefined) return found;
  }
  return null;
}
