import { rowSlot, type Tenant } from "../../../kv/store/collection.ts";
import {
  type ShieldMode,
  shieldSettings,
  type ShieldSettingsRecord,
} from "../../../kv/records/shield.ts";
import { type PolicySetRecord, policySets } from "../../../kv/records/gitops.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Reader } from "../../../kv/store/reader.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { App, Work, Writing } from "../../work/work.ts";
import { lapseOutdated } from "../approvals/lapse.ts";
import { canonicalJson } from "../../codec/canonical.ts";
import { NO_POLICIES, POLICIES_ID, policySetOf } from "../../policies/policy_set.ts";
import type { Merged } from "../../policies/documents/merge.ts";
import { mustMatchRecord } from "../../work/read_only.ts";
import { sha256Hex } from "../../codec/text.ts";
import type { Policy } from "../../shield/policy/policy.ts";
import type { Pack } from "../../shield/rule.ts";
import { mustPassTests } from "../../shield/policy/policy_tests.ts";
import {
  confirmSelfApproval,
  pendingSelfApproval,
  refuseSelfApproval,
  selfApprovalAfter,
} from "./self_approval.ts";

type Choices = Omit<ShieldSettingsRecord, "id" | "version" | "policy"> & {
  readonly policy: Policy | null;
};

/** Built-in rules that do not count. */
export type Patterns = Choices["patterns"];

/** What may be changed; `agent_modes` replaces the whole map. */
export interface ShieldChange {
  readonly mode?: ShieldMode | undefined;
  readonly agent_modes?: Choices["agent_modes"] | undefined;
  readonly approvals?: Changes<Choices["approvals"]> | undefined;
  /** Replaces both lists. */
  readonly patterns?: Patterns | undefined;
  /** Replaces the whole policy; null takes it away. */
  readonly policy?: Policy | null | undefined;
}
type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined };

const SETTINGS_ID = "shield";
const DEFAULTS: Choices = {
  mode: "enforce",
  agent_modes: {},
  approvals: { required: 1, roles: [], self_approval: false, expires_seconds: 3600 },
  patterns: { disabled_packs: [], disabled_rules: [] },
  policy: null,
};

/** A short name for exactly these choices. */
function withVersion(choices: Choices): ShieldSettingsRecord {
  const version = sha256Hex(canonicalJson(choices)).slice(0, 16);
  return { ...choices, id: SETTINGS_ID, version };
}

const defaults = withVersion(DEFAULTS);

/** Gives a new organization what its shield decides by, so that no command has to find that there is nothing. */
export function insertShield(tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    tx.insert(shieldSettings, { org, space }, defaults);
    tx.insert(policySets, { org, space }, NO_POLICIES);
  }
}

/** How the shield of a tenant decides: its settings and the policies that were applied. */
export interface ShieldInForce {
  readonly own: ShieldSettingsRecord;
  readonly policies: PolicySetRecord;
  /** Names all of it: what a verdict and an approval are bound to. */
  readonly version: string;
}

/** Where the settings and the policies of a tenant lie, and what they were together when last asked. */
interface Known {
  readonly slots: { readonly own: string; readonly policies: string };
  last: ShieldInForce | null;
}
const known = new WeakMap<Tenant, Known>();

/** How the shield of a tenant decides now, as memory has it, at once; null when it must be read. */
export function knownShield(store: Store, tenant: Tenant): ShieldInForce | null {
  let entry = known.get(tenant);
  if (entry === undefined) {
    const slots = {
      own: rowSlot(shieldSettings, tenant, SETTINGS_ID),
      policies: rowSlot(policySets, tenant, POLICIES_ID),
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

/** How the shield of a tenant decides now. */
export async function shieldInForce(db: Reader, tenant: Tenant): Promise<ShieldInForce> {
  return inForce(await ownSettings(db, tenant), await policySetOf(db, tenant));
}

/** Settings and policies under one name. */
export function inForce(own: ShieldSettingsRecord, policies: PolicySetRecord): ShieldInForce {
  const version = policies.version === "" ? own.version : `${own.version}.${policies.version}`;
  return { own, policies, version };
}

async function ownSettings(db: Reader, tenant: Tenant): Promise<ShieldSettingsRecord> {
  return await db.get(shieldSettings, tenant, SETTINGS_ID) ?? defaults;
}

/** What is in force for an agent with these labels, all policies put together. */
export function policiesFor(
  { policyCache }: App,
  tenant: Tenant,
  { own, policies }: ShieldInForce,
  labels: Readonly<Record<string, string>>,
): Merged | Promise<Merged> {
  const { version } = own;
  return policyCache.mergedFor(
    tenant,
    policies,
    { version, policy: policyAndPatterns(own) },
    labels,
  );
}

/** Whether the shield's verdicts bind an agent; the policies go before the settings. */
export const modeFor = (
  { own }: ShieldInForce,
  { mode }: Pick<Merged, "mode">,
  agentId: string,
): ShieldMode => mode ?? own.agent_modes[agentId] ?? own.mode;

/** The organization's own policy; null where it has none. */
const ownPolicy = ({ policy }: ShieldSettingsRecord): Policy | null => policy as Policy | null;

/** The organization's own policy with the patterns that it switched off; null where it has neither. */
export const policyAndPatterns = (own: ShieldSettingsRecord): Policy | null =>
  withPatterns(ownPolicy(own), own);

/** A policy in place of the organization's own: what was switched off stays off. */
export function withPatterns(
  policy: Policy | null,
  { patterns }: Pick<ShieldSettingsRecord, "patterns">,
): Policy | null {
  const { disabled_packs, disabled_rules } = patterns;
  if (disabled_packs.length === 0 && disabled_rules.length === 0) return policy;
  return {
    ...policy ?? { rules: [] },
    disabled_packs: [...policy?.disabled_packs ?? [], ...disabled_packs as Pack[]],
    disabled_rules: [...policy?.disabled_rules ?? [], ...disabled_rules],
  };
}

/** The settings as every answer shows them. */
export async function getShieldSettings(work: Work) {
  return await showSettings(work, await shieldInForce(work.db, work.actor.tenant));
}

/**
 * Changes what a caller sends of the settings. Its other fields may stand beside that as they were read.
 * @throws {Fault} VALIDATION_FAILED
 */
export async function updateShieldSettings(
  work: Writing,
  { mode, agent_modes, approvals, policy, ...others }: Omit<ShieldChange, "patterns">,
) {
  mustMatchRecord(others, await getShieldSettings(work));
  return await changeShieldSettings(work, { mode, agent_modes, approvals, policy });
}

/**
 * Changes some of the settings; requests for approval under the earlier ones lapse. Self-approval may wait
 * for somebody else's word.
 * @throws {Fault} VALIDATION_FAILED when a test of the policy fails, FORBIDDEN, CONFLICT
 */
export async function changeShieldSettings(work: Writing, change: ShieldChange) {
  const { actor, tx } = work;
  const { own: before } = await shieldInForce(tx, actor.tenant);
  const patterns = change.patterns ?? before.patterns;
  if (change.policy) {
    await mustPassTests(change.policy, withPatterns(change.policy, { patterns }));
  }
  const { required, roles, self_approval, expires_seconds } = change.approvals ?? {};
  const allowed = before.approvals.self_approval;
  const settings = withVersion({
    mode: change.mode ?? before.mode,
    agent_modes: change.agent_modes ?? before.agent_modes,
    approvals: {
      required: required ?? before.approvals.required,
      roles: roles ?? before.approvals.roles,
      self_approval: await selfApprovalAfter(work, allowed, self_approval),
      expires_seconds: expires_seconds ?? before.approvals.expires_seconds,
    },
    patterns,
    policy: change.policy === undefined ? ownPolicy(before) : change.policy,
  });
  return await replaceSettings(work, before, settings);
}

/**
 * Decides on self-approval that waits: a second person confirms it, or anybody who may change the settings
 * refuses it.
 * @throws {Fault} NOT_FOUND, FORBIDDEN, CONFLICT
 */
export async function decideSelfApproval(work: Writing, changeId: string, confirm: boolean) {
  if (!confirm) {
    await refuseSelfApproval(work, changeId);
    return await getShieldSettings(work);
  }
  await confirmSelfApproval(work, changeId);
  const before = await ownSettings(work.tx, work.actor.tenant);
  const approvals = { ...before.approvals, self_approval: true };
  const { id: _id, version: _version, ...choices } = before;
  const settings = withVersion({ ...choices, policy: ownPolicy(before), approvals });
  return await replaceSettings(work, before, settings);
}

async function replaceSettings(
  work: Writing,
  before: ShieldSettingsRecord,
  settings: ShieldSettingsRecord,
) {
  const { app, actor: { tenant }, tx } = work;
  tx.put(shieldSettings, tenant, settings);
  const now = await shieldInForce(tx, tenant);
  if (settings.version !== before.version) {
    tx.afterCommit(() => lapseOutdated(app, tenant, now.version));
  }
  return await showSettings(work, now);
}

async function showSettings(
  work: Pick<Work, "db" | "actor">,
  { own, version }: ShieldInForce,
) {
  const { id: _id, version: _version, ...shown } = own;
  const pending_self_approval = await pendingSelfApproval(work);
  return { ...shown, policy: ownPolicy(own), policy_version: version, pending_self_approval };
}
