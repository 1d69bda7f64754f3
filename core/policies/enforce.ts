import type { Tenant } from "../../kv/store/collection.ts";
import { type PolicySetRecord, policySets } from "../../kv/records/gitops.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { App } from "../work/work.ts";
import { inForce, type ShieldInForce } from "../commands/guard/in_force.ts";
import { pushPolicies } from "./push.ts";

/** Puts policies in force. Requests that were made under others lapse then, and agents are told. */
export function enforce(
  app: App,
  tx: Tx,
  tenant: Tenant,
  { own, policies: before }: ShieldInForce,
  after: PolicySetRecord,
): void {
  tx.put(policySets, tenant, after);
  if (after.version === before.version) return;
  tx.afterCommit(() => {
    app.signals.shieldChanged.send({ tenant, version: inForce(own, after).version });
    pushPolicies(app, app.links.serving(tenant));
  });
}
