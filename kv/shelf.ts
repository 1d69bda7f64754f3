import type { Appending } from "./appends.ts";
import type { Tenant } from "./collection.ts";
import { noteOf } from "./note.ts";
import type { Store } from "./store.ts";

const decoder = new TextDecoder();

const shelfKey = (tenant: Tenant, name: string) => [tenant.org, tenant.space, `${name}=`];

/** What ends within so many ms shares a value, as far as it shares a commit. */
const SPAN_MS = 64;

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
  const key = [...shelfKey(tenant, name), nowMs - nowMs % SPAN_MS];
  to.note(noteOf(key, json, expireIn));
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
