import { type Tenant, tenantKey } from "../store/collection.ts";

/** A watch takes 10 keys, so tenants share few pulses: a pulse says that some of its tenants have new events. */
const PULSES = 8;

/** The keys that sequencing commits set on a shared store, so that other instances need not poll the logs. */
export const PULSE_KEYS: readonly Deno.KvKey[] = Array.from(
  { length: PULSES },
  (_, n) => ["~", "pulse", n],
);

/** Whether a tenant shares each pulse, in the order of the keys. */
export const SHARING: readonly ((tenant: Tenant) => boolean)[] = PULSE_KEYS.map(
  (_, pulse) => (tenant) => pulseOf(tenant) === pulse,
);

/** The number of a tenant's pulse. */
export function pulseOf(tenant: Tenant): number {
  let hash = 0;
  for (const char of tenantKey(tenant)) hash = (hash * 31 + char.charCodeAt(0)) >>> 0;
  return hash % PULSES;
}
