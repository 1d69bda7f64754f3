import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { addToTally } from "../../../kv/store/tally.ts";
import type { Tx } from "../../../kv/store/tx.ts";

/** Where the number of requests that wait for people is counted. */
export const WAITING = { name: "approvals", id: "waiting" } as const;

/** One more request waits, or one less. */
export function countWaiting(tx: Tx, tenant: Tenant, n: 1 | -1): void {
  // The installation counts what is live.
  for (const whose of tenant.space === "live" ? [tenant, SYSTEM] : [tenant]) {
    addToTally(tx, whose, WAITING.name, WAITING.id, n);
  }
}
