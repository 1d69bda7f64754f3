import type { Tenant } from "../../../kv/store/collection.ts";
import { type PolicySetRecord, policyVersions } from "../../../kv/records/gitops.ts";
import type { App } from "../../work/work.ts";
import { policySetOf, versionId } from "../book.ts";

/** Versions that a tenant keeps besides those that stay whatever their age. */
export const VERSIONS_KEPT = 1_000;
const BATCH = 50;

/** Deletes the oldest versions beyond the bound; never fails. */
export function pruneVersions(app: App, tenant: Tenant): void {
  app.syncs.also(
    prune(app, tenant).catch((error) =>
      app.ports.log.error("old versions of policies could not be deleted", { error: String(error) })
    ),
  );
}

async function prune({ store }: App, tenant: Tenant): Promise<void> {
  const lasting = lastingOf(await policySetOf(store, tenant));
  let beyond = await store.count(policyVersions, tenant) - lasting.size - VERSIONS_KEPT;
  if (beyond <= 0) return;
  const oldest = { index: "age", limit: BATCH + lasting.size };
  for (const { id } of (await store.list(policyVersions, tenant, oldest)).items) {
    if (lasting.has(id) || beyond-- <= 0) continue;
    await store.transact(async (tx) => {
      const isLasting = lastingOf(await policySetOf(tx, tenant)).has(id);
      if (!isLasting) tx.delete(policyVersions, tenant, id);
    });
  }
}

/** Versions that stay whatever their age: those in force, and the last two of each policy in force. */
const lastingOf = ({ items }: PolicySetRecord): ReadonlySet<string> =>
  new Set(
    items.flatMap(({ id, version, latest }) =>
      [version, latest, latest - 1].filter((one) => one > 0)
        .map((version) => versionId({ id, version }))
    ),
  );
