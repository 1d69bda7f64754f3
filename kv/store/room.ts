import { z } from "zod";
import { collection, type Tenant } from "./collection.ts";
import type { Tx } from "./tx.ts";

/** How many records of a kind a tenant has at most, by the name of the collection. */
const rooms = collection({
  name: "room",
  schema: z.strictObject({ id: z.string(), taken_at_most: z.number() }),
  cached: 10_000,
});

/**
 * Takes room for one more record of a kind that cannot be counted, because its records expire; answers
 * whether there is any. What ends gives nothing back: once all seems taken, `count` says how much is, by a
 * list. Of two at once that would take the last room, the second looks again.
 */
export async function takeRoom(
  tx: Tx,
  tenant: Tenant,
  of: { readonly name: string },
  most: number,
  count: () => Promise<number>,
): Promise<boolean> {
  const known = await tx.get(rooms, tenant, of.name);
  const seems = known?.taken_at_most ?? most;
  const taken = seems < most ? seems : await count();
  if (taken >= most) return false;
  tx.put(rooms, tenant, { id: of.name, taken_at_most: taken + 1 });
  return true;
}
