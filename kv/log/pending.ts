import { type Mutation, setKey } from "../store/change.ts";
import { type Tenant, tenantKey, tenantOf } from "../store/collection.ts";
import { coalescedLine } from "../store/coalesced.ts";
import type { Tx } from "../store/tx.ts";
import type { TenantEvents } from "./sequencing.ts";

/** A tenant whose log has events for a follower, up to number `seq`. */
export interface PendingTenant {
  readonly tenant: Tenant;
  readonly seq: number;
}

const decoder = new TextDecoder();
/** Tenants of one group, so that its value stays below the engine's limit with the longest names. */
const GROUP_TENANTS_MAX = 100;

/** The keys of all tenants that are pending for a follower. */
export const pendingPrefix = (name: string) => ["~", "mark", name];

/** The key that says a tenant is pending; the follower reads its log to the end. */
export const pendingKey = (
  name: string,
  { org, space }: Tenant,
) => [...pendingPrefix(name), org, space];

/** Makes a tenant pending for a follower. */
export const setPending = (name: string, tenant: Tenant): Mutation =>
  setKey(pendingKey(name, tenant), true, 16);

/** The tenant of a pending key. */
export const tenantOfPending = ({ key }: Deno.KvEntry<unknown>): Tenant => ({
  org: key[3] as string,
  space: key[4] as Tenant["space"],
});

/** The keys of groups of pending tenants. No organization has an empty name. */
export const pendingGroupPrefix = (name: string) => [...pendingPrefix(name), ""];

const encodeGroup = (pending: readonly PendingTenant[]): string =>
  pending.map(({ tenant, seq }) => `${tenantKey(tenant)}\t${seq}`).join("\n");

/** Makes tenants pending for a follower: one by a key of its own, several by a group. */
export function setPendingAll(tx: Tx, name: string, batches: readonly TenantEvents[]): void {
  if (batches.length === 1) {
    tx.stage(setPending(name, batches[0]!.tenant));
    return;
  }
  for (let at = 0; at < batches.length; at += GROUP_TENANTS_MAX) {
    const some = batches.slice(at, at + GROUP_TENANTS_MAX).map(({ tenant, events }) => ({
      tenant,
      seq: events.at(-1)!.seq,
    }));
    tx.coalesce(coalescedLine([...pendingGroupPrefix(name), at], encodeGroup(some)));
  }
}

/** The first tenants that are pending for a follower, each once. */
export async function pendingTenants(
  { kv }: { readonly kv: Deno.Kv },
  name: string,
  limit: number,
): Promise<Tenant[]> {
  const found = new Map<string, Tenant>();
  for await (const entry of kv.list({ prefix: pendingPrefix(name) }, { limit })) {
    const tenants = pendingGroup(entry)?.map(({ tenant }) => tenant) ?? [tenantOfPending(entry)];
    for (const tenant of tenants) found.set(tenantKey(tenant), tenant);
  }
  return [...found.values()].slice(0, limit);
}

/** The tenants of a group, or null when the entry is of a single tenant. */
export function pendingGroup({ key, value }: Deno.KvEntry<unknown>): PendingTenant[] | null {
  if (key[3] !== "") return null;
  return decoder.decode(value as Uint8Array).split("\n").map((line) => {
    const tab = line.indexOf("\t");
    return { tenant: tenantOf(line.slice(0, tab)), seq: Number(line.slice(tab + 1)) };
  });
}
