import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import type { AgentRecord } from "../../kv/records/agent.ts";
import type { Store } from "../../kv/store/store.ts";
import { addToTally, readTally } from "../../kv/store/tally.ts";
import type { Tx } from "../../kv/store/tx.ts";

type Status = AgentRecord["status"];
const TALLY = "agents";
const STATUSES = ["online", "degraded", "offline"] as const satisfies readonly Status[];

/** Updates the counts when an agent's status changes; null stands for no agent. */
export function countAgent(tx: Tx, tenant: Tenant, from: Status | null, to: Status | null): void {
  if (from === to) return;
  // The installation counts agents of live spaces only.
  for (const whose of tenant.space === "live" ? [tenant, SYSTEM] : [tenant]) {
    if (from !== null) addToTally(tx, whose, TALLY, from, -1);
    if (to !== null) addToTally(tx, whose, TALLY, to);
  }
}

/** The number of agents by status; of the whole installation for the system's tenant. */
export async function agentsByStatus(
  store: Store,
  whose: Tenant,
): Promise<Record<Status, number>> {
  const counts = STATUSES.map(async (status) =>
    [status, await readTally(store, whose, TALLY, status)] as const
  );
  return Object.fromEntries(await Promise.all(counts)) as Record<Status, number>;
}
