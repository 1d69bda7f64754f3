import type { Tenant } from "../../kv/store/collection.ts";
import type { PolicyItem } from "../../kv/records/gitops.ts";
import type { ShieldSettingsRecord } from "../../kv/records/shield.ts";
import type { App } from "../work/work.ts";
import { shieldInForce } from "../commands/guard/in_force.ts";

/** What decides over commands at the moment. */
export interface PoliciesInForce {
  /** The version that verdicts and approvals are bound to. */
  readonly version: string;
  readonly mode: ShieldSettingsRecord["mode"];
  /** Agents with another mode than the organization's, by mode. */
  readonly agents_in_other_modes: Readonly<Record<string, number>>;
  readonly approvals: ShieldSettingsRecord["approvals"];
  /** The organization's own rules; null for none. */
  readonly policy: unknown;
  /** The policies that were applied from Git. */
  readonly applied: readonly AppliedPolicy[];
}
type AppliedPolicy = Pick<PolicyItem, "name" | "path" | "version" | "commit" | "digest">;

/** The shield's settings and the organization's own policy. */
export async function policiesNow({ store }: App, tenant: Tenant): Promise<PoliciesInForce> {
  const { own, policies, version } = await shieldInForce(store, tenant);
  const { mode, agent_modes, approvals, policy } = own;
  const others: Record<string, number> = {};
  for (const other of Object.values(agent_modes)) {
    if (other !== mode) others[other] = (others[other] ?? 0) + 1;
  }
  const applied = policies.items.map(({ name, path, version, commit, digest }) => (
    { name, path, version, commit, digest }
  ));
  return { version, mode, agents_in_other_modes: others, approvals, policy, applied };
}
