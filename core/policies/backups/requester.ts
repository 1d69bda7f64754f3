import type { Tenant } from "../../../kv/store/collection.ts";
import { apiKeys } from "../../../kv/records/api_key.ts";
import type { JobRecord } from "../../../kv/records/backup.ts";
import type { Scope } from "../../identity/identity.ts";
import type { Context } from "../../context/context.ts";
import { rightsToGive } from "../../access/access.ts";

/**
 * True while the requester of a job still has the right to it: a job starts again with each link of its agent, which
 * may be long after the request.
 */
export async function mayRequesterStill(
  { store, ports }: Pick<Context, "store" | "ports">,
  tenant: Tenant,
  { created_by: id }: Pick<JobRecord, "created_by">,
  right: Scope,
): Promise<boolean> {
  const key = await store.get(apiKeys, tenant, id);
  const source = { userId: key?.created_by ?? id, keyId: key === null ? null : id };
  return (await rightsToGive(store, tenant, source, ports.clock.now())).has(right);
}
