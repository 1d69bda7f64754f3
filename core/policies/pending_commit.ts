import type { Tenant } from "../../kv/store/collection.ts";
import { policySetOf, repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import type { Context } from "../context/context.ts";
import { Overtaken } from "./activate.ts";
import { readWanted } from "./apply.ts";
import { planPolicies } from "./plan.ts";
import type { FetchParts } from "./source.ts";

/** Changes that a repository's record shows of its pending commit; a dry run of the apply shows all. */
const CHANGES_SHOWN = 20;

/**
 * Records in a repository's record what applying its head would change.
 * @throws {Fault} VALIDATION_FAILED, UNAVAILABLE
 * @throws {Overtaken} when something was applied meanwhile, which may be newer
 */
export async function recordPending(
  parts: FetchParts & Pick<Context, "store">,
  tenant: Tenant,
  repository: RepositoryRecord,
): Promise<void> {
  const { store, ports } = parts;
  const { branch, policy_path: path } = repository;
  const wanted = await readWanted(parts, tenant, repository, { branch, path });
  await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, repository.id);
    if (found === null) return;
    if (found.last_apply?.serial !== repository.last_apply?.serial) throw new Overtaken();
    const steps = planPolicies(await policySetOf(tx, tenant), wanted)
      .filter(({ action }) => action !== "unchanged");
    const pending = {
      commit: wanted.commit,
      seen_at_ms: ports.clock.now(),
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

/** Removes the pending commit from a repository whose head is in force. */
export async function clearPending(
  { store }: Pick<Context, "store">,
  tenant: Tenant,
  { id }: RepositoryRecord,
): Promise<void> {
  await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, id);
    if (found !== null) tx.put(repositories, tenant, { ...found, pending: null });
  });
}
