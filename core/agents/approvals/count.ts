import { SYSTEM, type Tenant } from "../../../kv/store/collection.ts";
import { addToTally } from "../../../kv/store/tally.ts";
import type { Tx } from "../../../kv/store/tx.ts";

/** The tally of pending requests. */
export const WAITING = { name: "approvals", id: "waiting" } as const;

/** Counts one more or one fewer pending request. */
export function countWaiting(tx: Tx, tenant: Tenant, n: 1 | -1): void {
  // The installation counts requests of live spaces only.
  for (const whose of tenant.space === "live" ? [tenant, SYSTEM] : [tenant]) {
    addToTally(tx, whose, WAITING.name, WAITING.id, n);
  }
}
