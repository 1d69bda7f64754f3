import { deleteKey, maxKey, sumKey } from "./change.ts";
import type { Tenant } from "./collection.ts";
import type { Store } from "./store.ts";
import type { Tx } from "./tx.ts";

const key = (
  tenant: Tenant,
  name: string,
  id: string,
) => [tenant.org, tenant.space, "tally", name, id];

/** Adds `n` to a counter; `n` may be negative. Sums never conflict, so no change is retried for them. */
export function addToTally(tx: Tx, tenant: Tenant, name: string, id: string, n = 1): void {
  tx.stage(sumKey(key(tenant, name, id), BigInt.asUintN(64, BigInt(n))));
}

/** Raises a counter, such as a time in ms, to `n` unless it is higher. It never conflicts. */
export function raiseTally(tx: Tx, tenant: Tenant, name: string, id: string, n: number): void {
  tx.stage(maxKey(key(tenant, name, id), BigInt(n)));
}

/** The value of a counter; 0 when nothing was added. */
export async function readTally(
  store: Store,
  tenant: Tenant,
  name: string,
  id: string,
): Promise<number> {
  const { value } = await store.kv.get<Deno.KvU64>(key(tenant, name, id));
  return value === null ? 0 : Number(value.value);
}

/** Deletes a counter. */
export function dropTally(tx: Tx, tenant: Tenant, name: string, id: string): void {
  tx.stage(deleteKey(key(tenant, name, id)));
}
