import { z } from "zod";
import { collection, type Tenant } from "./collection.ts";
import type { Tx } from "./tx.ts";

/** How many records of a collection a tenant has at most, by the collection's name. */
const quotas = collection({
  name: "room",
  schema: z.strictObject({ id: z.string(), taken_at_most: z.number() }),
  cached: 10_000,
});

/**
 * Reserves quota for one more record of a collection that cannot be `counted`, because its records expire.
 * Returns false when the tenant has `max` of them. Deletions and expiry release nothing: when the quota
 * seems used up, `count` lists what exists. Two transactions that reserve the last one conflict.
 */
export async function reserveQuota(
  tx: Tx,
  tenant: Tenant,
  of: { readonly name: string },
  max: number,
  count: () => Promise<number>,
): Promise<boolean> {
  const stored = await tx.get(quotas, tenant, of.name);
  const estimate = stored?.taken_at_most ?? max;
  const used = estimate < max ? estimate : await count();
  if (used >= max) return false;
  tx.put(quotas, tenant, { id: of.name, taken_at_most: used + 1 });
  return true;
}
