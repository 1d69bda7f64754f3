import { deleteKey, maxKey, sumKey } from "./change.ts";
import type { Tenant } from "./collection.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

const key = (
  tenant: Tenant,
  name: string,
  id: string,
) => [tenant.org, tenant.space, "tally", name, id];

/** Adds to a counter, or takes from it: the engine's sums wrap. Sums never conflict, so a counter that every change touches costs no rerun. */
export function addToTally(tx: Tx, tenant: Tenant, name: string, id: string, n = 1): void {
  tx.stage(sumKey(key(tenant, name, id), BigInt.asUintN(64, BigInt(n))));
}

/** Lifts a counter that only rises, such as a time in ms, to `n`. It never conflicts either. */
export function raiseTally(tx: Tx, tenant: Tenant, name: string, id: string, n: number): void {
  tx.stage(maxKey(key(tenant, name, id), BigInt(n)));
}

/** Where a counter stands; 0 when nothing was ever added. */
export async function readTally(
  store: Store,
  tenant: Tenant,
  name: string,
  id: string,
): Promise<number> {
  const { value } = await store.kv.get<Deno.KvU64>(key(tenant, name, id));
  return value === null ? 0 : Number(value.value);
}

/** Forgets a counter, together with what it counted. */
export function dropTally(tx: Tx, tenant: Tenant, name: string, id: string): void {
  tx.stage(deleteKey(key(tenant, name, id)));
}
