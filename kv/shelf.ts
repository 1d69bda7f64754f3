import type { Appending } from "./appends.ts";
import type { Tenant } from "./collection.ts";
import { noteOf } from "./note.ts";
import type { Store } from "./store.ts";

const decoder = new TextDecoder();

const shelfKey = (tenant: Tenant, name: string) => [tenant.org, tenant.space, `${name}=`];

/** What ends within so many ms shares a value, as far as it shares a commit and is kept as long. */
const SPAN_MS = 64;
/** The engine removes a value whole: what is to go within so many ms of each other may share one. */
const EXPIRY_SPAN_MS = 60 * 60 * 1000;

/**
 * A shelf holds records that never change again, many to a value: all that one commit put there. They are
 * found by their id within the time at which they may have been put, so what ends soon after it began
 * needs neither a row nor an index of its own.
 */
export function putOnShelf(
  to: Appending,
  tenant: Tenant,
  name: string,
  { json, nowMs, expireIn }: { json: string; nowMs: number; expireIn: number },
): void {
  const keptMs = Math.ceil(expireIn / EXPIRY_SPAN_MS) * EXPIRY_SPAN_MS;
  const key = [...shelfKey(tenant, name), nowMs - nowMs % SPAN_MS, keptMs];
  to.note(noteOf(key, json, keptMs));
}

/** The JSON of the record whose text begins with `start`, put there between two instants in ms. */
export async function findOnShelf(
  store: Store,
  tenant: Tenant,
  name: string,
  start: string,
  [fromMs, toMs]: readonly [number, number],
): Promise<string | null> {
  const key = shelfKey(tenant, name);
  const range = { start: [...key, fromMs - SPAN_MS], end: [...key, toMs] };
  for await (const { value } of store.kv.list<Uint8Array>(range, { batchSize: 16 })) {
    const found = decoder.decode(value).split("\n").find((line) => line.startsWith(start));
    if (found !== undefined) return found;
  }
  return null;
}
