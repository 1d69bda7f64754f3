import type { Appending } from "../log/appends.ts";
import type { Tenant } from "./collection.ts";
import { coalescedLine } from "./coalesced.ts";
import type { Store } from "./store.ts";

const decoder = new TextDecoder();

/** What is put within this time stands under one instant, so that one commit makes one value of it. */
const PACK_MS = 64;
const instantOf = (ms: number): number => ms - ms % PACK_MS;

/** The engine removes a value whole: what is to go within so many ms of each other may share one. */
const EXPIRY_SPAN_MS = 60 * 60 * 1000;

const packedKey = (tenant: Tenant, name: string) => [tenant.org, tenant.space, `${name}=`];

/**
 * A shelf holds records that never change again, many to a value: all that one commit put there. They are
 * found by their id within the time at which they may have been put, so what ends soon after it began
 * needs neither a row nor an index of its own.
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

/** The JSON of the record whose text begins with `start`, put there between two instants in ms or 63 ms more. */
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
