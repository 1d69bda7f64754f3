import type { Tenant } from "../../../kv/store/collection.ts";
import type { PolicyItem } from "../../../kv/records/gitops.ts";
import type { ShieldSettingsRecord } from "../../../kv/records/shield.ts";
import type { Context } from "../../context/context.ts";
import { shieldInForce } from "../../agents/agents.ts";

/** The rules for commands at the time of the report. */
export interface PoliciesInForce {
  /** The version to which verdicts and approvals are bound. */
  readonly version: string;
  readonly mode: ShieldSettingsRecord["mode"];
  /** The number of agents in each mode other than the organization's. */
  readonly agents_in_other_modes: Readonly<Record<string, number>>;
  readonly approvals: ShieldSettingsRecord["approvals"];
  /** The organization's own rules; null for none. */
  readonly policy: unknown;
  /** The policies applied from Git. */
  readonly applied: readonly AppliedPolicy[];
}
type AppliedPolicy = Pick<PolicyItem, "name" | "path" | "version" | "commit" | "digest">;

/** Reads the shield's settings and policies in force. */
export async function policiesNow(
  { store }: Pick<Context, "store">,
  tenant: Tenant,
): Promise<PoliciesInForce> {
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
