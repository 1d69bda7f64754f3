import { hash } from "node:crypto";
import { rowKeyText, type Tenant } from "../../../kv/store/collection.ts";
import {
  type ShieldMode,
  shieldSettings,
  type ShieldSettingsRecord,
} from "../../../kv/records/shield.ts";
import {
  NO_POLICIES,
  POLICIES_ID,
  policySetOf,
  type PolicySetRecord,
  policySets,
} from "../../../kv/records/gitops.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { canonicalJson } from "../../codec/codec.ts";
import type { Pack, Policy } from "../../shield/shield.ts";

/** The shield's settings without the name that their content gives them. */
export type Choices = Omit<ShieldSettingsRecord, "id" | "version" | "policy"> & {
  readonly policy: Policy | null;
};

/** The shield of a tenant: its settings and the policies that were applied. */
export interface ShieldInForce {
  readonly own: ShieldSettingsRecord;
  readonly policies: PolicySetRecord;
  /** Names both; verdicts and approvals are bound to it. */
  readonly version: string;
}

/** The applied policies of one agent, merged. */
export interface MergedPolicy {
  /** Null without any rule, threshold or switched pattern. */
  readonly policy: Policy | null;
  /** Null when no policy sets it. */
  readonly mode: ShieldMode | null;
  /** Null when no policy sets it. */
  readonly retentionDays: number | null;
}

/** Merges applied policies. */
export interface PoliciesInForce {
  /** The policies for an agent with these labels, merged with the organization's own. */
  mergedFor(
    tenant: Tenant,
    set: PolicySetRecord,
    own: { readonly version: string; readonly policy: Policy | null },
    labels: Readonly<Record<string, string>>,
  ): MergedPolicy | Promise<MergedPolicy>;
}

const SETTINGS_ID = "shield";

/** How the built-in packs and rules are switched. */
export type Patterns = Choices["patterns"];

/** The record of these choices, with a version that names exactly them. */
export function withVersion(choices: Choices): ShieldSettingsRecord {
  const version = hash("sha256", canonicalJson(choices)).slice(0, 16);
  return { ...choices, id: SETTINGS_ID, version };
}

const DEFAULTS = withVersion({
  mode: "enforce",
  agent_modes: {},
  approvals: { required: 1, roles: [], self_approval: false, expires_seconds: 3600 },
  patterns: { disabled_packs: [], disabled_rules: [], watched_packs: [], watched_rules: [] },
  policy: null,
});

/** The settings of an organization that an earlier version created, and that has none. */
const EARLIER_DEFAULTS = withVersion({
  ...DEFAULTS,
  patterns: { ...DEFAULTS.patterns, watched_packs: ["production"] },
  policy: null,
});

/** Writes a new organization's default settings, so that reads of its shield never miss the cache. */
export function insertShield(tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    tx.insert(shieldSettings, { org, space }, DEFAULTS);
    tx.insert(policySets, { org, space }, NO_POLICIES);
  }
}

/** Cache slots of a tenant's settings and policies, and the last result made of them. */
interface Known {
  readonly slots: { readonly own: string; readonly policies: string };
  last: ShieldInForce | null;
}
const known = new WeakMap<Tenant, Known>();

/** The shield of a tenant from the store's cache; null when it must be read. */
export function knownShield(store: Store, tenant: Tenant): ShieldInForce | null {
  let entry = known.get(tenant);
  if (entry === undefined) {
    const slots = {
      own: rowKeyText(shieldSettings, tenant, SETTINGS_ID),
      policies: rowKeyText(policySets, tenant, POLICIES_ID),
    };
    known.set(tenant, entry = { slots, last: null });
  }
  const own = store.peek(shieldSettings, entry.slots.own);
  const policies = store.peek(policySets, entry.slots.policies);
  if (!own || !policies) return null;
  if (entry.last?.own !== own || entry.last.policies !== policies) {
    entry.last = inForce(own, policies);
  }
  return entry.last;
}

/** The shield of a tenant, read. */
export async function shieldInForce(db: Reader, tenant: Tenant): Promise<ShieldInForce> {
  return inForce(...await Promise.all([ownSettings(db, tenant), policySetOf(db, tenant)]));
}

/** Settings and policies under one version. */
export function inForce(own: ShieldSettingsRecord, policies: PolicySetRecord): ShieldInForce {
  const version = policies.version === "" ? own.version : `${own.version}.${policies.version}`;
  return { own, policies, version };
}

/** A tenant's settings without the applied policies. */
export async function ownSettings(db: Reader, tenant: Tenant): Promise<ShieldSettingsRecord> {
  return await db.get(shieldSettings, tenant, SETTINGS_ID) ?? EARLIER_DEFAULTS;
}

/** What is in force for an agent with these labels: all policies and the settings, merged. */
export function policiesFor(
  book: PoliciesInForce,
  tenant: Tenant,
  { own, policies }: ShieldInForce,
  labels: Readonly<Record<string, string>>,
): MergedPolicy | Promise<MergedPolicy> {
  const { version } = own;
  return book.mergedFor(tenant, policies, { version, policy: policyAndPatterns(own) }, labels);
}

/** Whether the shield's verdicts bind an agent; policies take precedence over the settings. */
export const modeFor = (
  { own }: ShieldInForce,
  { mode }: Pick<MergedPolicy, "mode">,
  agentId: string,
): ShieldMode => mode ?? own.agent_modes[agentId] ?? own.mode;

/** The organization's own policy; null without one. */
export const ownPolicy = ({ policy }: ShieldSettingsRecord): Policy | null =>
  policy as Policy | null;

const policies = new WeakMap<ShieldSettingsRecord, Policy | null>();

/** The organization's own policy with its switched patterns; null with neither. */
export function policyAndPatterns(own: ShieldSettingsRecord): Policy | null {
  const known = policies.get(own);
  if (known !== undefined) return known;
  const made = withPatterns(ownPolicy(own), own);
  policies.set(own, made);
  return made;
}

/** A policy in place of the organization's own; switched patterns stay as they are. */
export function withPatterns(
  policy: Policy | null,
  { patterns }: Pick<ShieldSettingsRecord, "patterns">,
): Policy | null {
  const { disabled_packs, disabled_rules, watched_packs, watched_rules } = patterns;
  if (Object.values(patterns).every(({ length }) => length === 0)) return policy;
  return {
    ...policy ?? { rules: [] },
    disabled_packs: [...policy?.disabled_packs ?? [], ...disabled_packs as Pack[]],
    disabled_rules: [...policy?.disabled_rules ?? [], ...disabled_rules],
    watched_packs: [...policy?.watched_packs ?? [], ...watched_packs as Pack[]],
    watched_rules: [...policy?.watched_rules ?? [], ...watched_rules],
  };
}
