import type { Tenant } from "../../kv/collection.ts";
import { policyVersions } from "../../kv/records/gitops.ts";
import type { App } from "../app.ts";
import { policySetOf, versionId } from "./book.ts";

/** Versions that a tenant keeps, those in force besides. */
export const VERSIONS_KEPT = 1_000;
const BATCH = 50;

/** Deletes the oldest versions beyond the bound that are not in force; never fails. */
export function pruneVersions(app: App, tenant: Tenant): void {
  app.syncs.also(
    prune(app, tenant).catch((error) =>
      app.ports.log.error("old versions of policies could not be deleted", { error: String(error) })
    ),
  );
}

async function prune({ store }: App, tenant: Tenant): Promise<void> {
  const { items } = await policySetOf(store, tenant);
  const inForce = new Set(items.map(versionId));
  let beyond = await store.count(policyVersions, tenant) - VERSIONS_KEPT;
  if (beyond <= 0) return;
  // Ids sort by the age of their policy and then by number.
  const oldest = await store.list(policyVersions, tenant, { limit: BATCH + inForce.size });
  for (const { id } of oldest.items) {
    if (inForce.has(id) || beyond-- <= 0) continue;
    await store.transact(async (tx) => {
      const set = await policySetOf(tx, tenant);
      if (!set.items.some((item) => versionId(item) === id)) tx.delete(policyVersions, tenant, id);
    });
  }
}
