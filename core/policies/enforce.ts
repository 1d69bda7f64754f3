import type { Tenant } from "../../kv/store/collection.ts";
import { type PolicySetRecord, policySets } from "../../kv/records/gitops.ts";
import type { Tx } from "../../kv/store/tx.ts";
import { inForce, type ShieldInForce } from "../agents/agents.ts";
import type { Context } from "../context/context.ts";

/** Puts policies in force, and signals a new version to other areas after the commit. */
export function enforce(
  { signals }: Pick<Context, "signals">,
  tx: Tx,
  tenant: Tenant,
  { own, policies: before }: ShieldInForce,
  after: PolicySetRecord,
): void {
  tx.put(policySets, tenant, after);
  if (after.version === before.version) return;
  const { version } = inForce(own, after);
  tx.afterCommit(() => {
    signals.shieldChanged.send({ tenant, version });
    signals.policiesChanged.send({ tenant });
  });
}
