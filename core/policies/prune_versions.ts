import type { Tenant } from "../../kv/store/collection.ts";
import { policySetOf, type PolicySetRecord, policyVersions } from "../../kv/records/gitops.ts";
import type { Store } from "../../kv/store/store.ts";
import { versionId } from "./policy_set.ts";

/** Versions that a tenant keeps besides those that `protectedIn` names. */
export const VERSIONS_KEPT = 1_000;
/** The most versions that one call deletes. */
const BATCH = 50;

/** Deletes the oldest versions of a tenant's policies beyond the limit. */
export async function pruneVersions(store: Store, tenant: Tenant): Promise<void> {
  const kept = protectedIn(await policySetOf(store, tenant));
  let excess = await store.count(policyVersions, tenant) - kept.size - VERSIONS_KEPT;
  if (excess <= 0) return;
  const oldest = { index: "age", limit: BATCH + kept.size };
  for (const { id } of (await store.list(policyVersions, tenant, oldest)).items) {
    if (kept.has(id) || excess-- <= 0) continue;
    await store.transact(async (tx) => {
      const isProtected = protectedIn(await policySetOf(tx, tenant)).has(id);
      if (!isProtected) tx.delete(policyVersions, tenant, id);
    });
  }
}

/** Versions that stay whatever their age: those in force, and the last two of each policy in force. */
const protectedIn = ({ items }: PolicySetRecord): ReadonlySet<string> =>
  new Set(
    items.flatMap(({ id, version, latest }) =>
      [version, latest, latest - 1].filter((one) => one > 0)
        .map((version) => versionId({ id, version }))
    ),
  );
