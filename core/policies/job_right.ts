import type { Tenant } from "../../kv/store/collection.ts";
import { apiKeys } from "../../kv/records/api_key.ts";
import type { JobRecord } from "../../kv/records/backup.ts";
import type { App } from "../work/work.ts";
import { rightsToGive } from "../access/roles/grant.ts";
import type { Scope } from "../work/scopes.ts";

/** What it takes to ask for a backup or a restore. */
const RIGHT: Scope = "policy:write";

/**
 * Whether whoever asked for a backup or a restore may still do so: it begins again with each link of its
 * agent, which may be long after.
 */
export async function mayStillAsk(
  { store, ports }: App,
  tenant: Tenant,
  { created_by: id }: Pick<JobRecord, "created_by">,
): Promise<boolean> {
  const key = await store.get(apiKeys, tenant, id);
  const source = { userId: key?.created_by ?? id, keyId: key === null ? null : id };
  return (await rightsToGive(store, tenant, source, ports.clock.now())).has(RIGHT);
}
