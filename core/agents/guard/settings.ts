import {
  type ShieldMode,
  shieldSettings,
  type ShieldSettingsRecord,
} from "../../../kv/records/shield.ts";
import { mustMatchRecord, type Work, type Writing } from "../../work/work.ts";
import type { Policy } from "../../shield/shield.ts";
import { mustPassTests } from "./policy_tests.ts";
import {
  type Choices,
  ownPolicy,
  ownSettings,
  type Patterns,
  type ShieldInForce,
  shieldInForce,
  withPatterns,
  withVersion,
} from "./in_force.ts";
import {
  confirmSelfApproval,
  pendingSelfApproval,
  refuseSelfApproval,
  selfApprovalAfter,
} from "./self_approval.ts";

/** Fields to change; `agent_modes` replaces the whole map. */
export interface ShieldChange {
  readonly mode?: ShieldMode | undefined;
  readonly agent_modes?: Choices["agent_modes"] | undefined;
  readonly approvals?: Changes<Choices["approvals"]> | undefined;
  /** Replaces all lists. */
  readonly patterns?: Patterns | undefined;
  /** Replaces the whole policy; null removes it. */
  readonly policy?: Policy | null | undefined;
}
type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined };

/** The settings as answers show them. */
export async function getShieldSettings(work: Work) {
  return await showSettings(work, await shieldInForce(work.db, work.actor.tenant));
}

/**
 * Changes the fields that a caller sends. Read-only fields may be sent back as they were read.
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
 * Changes some of the settings; requests for approval under the earlier ones lapse. Allowing self-approval
 * may wait for a second person.
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
 * Decides a pending change to self-approval: a second person confirms it, or anybody who may change the
 * settings refuses it.
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
  const { actor: { tenant }, signals, tx } = work;
  tx.put(shieldSettings, tenant, settings);
  const now = await shieldInForce(tx, tenant);
  if (settings.version !== before.version) {
    tx.afterCommit(() => signals.shieldChanged.send({ tenant, version: now.version }));
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
