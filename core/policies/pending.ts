import type { Tenant } from "../../kv/store/collection.ts";
import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import type { App } from "../work/work.ts";
import { Overtaken } from "./activate.ts";
import { readWanted } from "./apply.ts";
import { policySetOf } from "./book.ts";
import { planPolicies } from "./plan.ts";

/** Changes of a pending commit that its repository's record shows; a dry run of the apply shows all. */
const CHANGES_SHOWN = 20;

/**
 * Puts on a repository's record what its head would change.
 * @throws {Fault} VALIDATION_FAILED, UNAVAILABLE
 * @throws {Overtaken} when something was applied meanwhile, which may be newer
 */
export async function showPending(
  app: App,
  tenant: Tenant,
  repository: RepositoryRecord,
): Promise<void> {
  const { branch, policy_path: path } = repository;
  const wanted = await readWanted(app, tenant, repository, { branch, path });
  await app.store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, repository.id);
    if (found === null) return;
    if (found.last_apply?.serial !== repository.last_apply?.serial) throw new Overtaken();
    const steps = planPolicies(await policySetOf(tx, tenant), wanted)
      .filter(({ action }) => action !== "unchanged");
    const pending = {
      commit: wanted.commit,
      seen_at_ms: app.ports.clock.now(),
      changes: steps.slice(0, CHANGES_SHOWN).map(({ action, name, path }) => ({
        action,
        name,
        path,
      })),
      changes_total: steps.length,
    };
    tx.put(repositories, tenant, { ...found, pending });
  });
}

/** Removes what was pending from a repository's record: its head is what is in force. */
export async function endPending(
  { store }: App,
  tenant: Tenant,
  { id }: RepositoryRecord,
): Promise<void> {
  await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, id);
    if (found !== null) tx.put(repositories, tenant, { ...found, pending: null });
  });
}
