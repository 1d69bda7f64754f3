import { auditTreeId, auditTrees } from "../../../kv/records/audit.ts";
import type { EventLog } from "../../../kv/log/log.ts";
import { pendingTenants } from "../../../kv/log/pending.ts";
import type { Tenant } from "../../../kv/store/collection.ts";
import type { Store } from "../../../kv/store/store.ts";
import { writtenAtMs } from "./row_times.ts";
import { AUDIT_FOLLOWER } from "./sequencer.ts";

/** Logs that are looked at. */
const TENANTS_MAX = 64;

/** The age of the oldest event with a number that its audit tree lacks, in ms; 0 without one. */
export async function auditLagMs(store: Store, log: EventLog, nowMs: number): Promise<number> {
  const oldest = async (tenant: Tenant): Promise<number> => {
    const tree = await store.get(auditTrees, tenant, auditTreeId(tenant));
    const [next] = await log.read(tenant, tree?.size ?? 0, 1);
    return next === undefined ? 0 : nowMs - writtenAtMs(next);
  };
  const tenants = await pendingTenants(store, AUDIT_FOLLOWER, TENANTS_MAX);
  return Math.max(0, ...await Promise.all(tenants.map(oldest)));
}
