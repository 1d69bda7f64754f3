import type { Tenant } from "../../kv/collection.ts";
import {
  type ShieldMode,
  shieldSettings,
  type ShieldSettingsRecord,
} from "../../kv/records/shield.ts";
import type { Reader } from "../../kv/store.ts";
import type { Tx } from "../../kv/tx.ts";
import type { Work, Writing } from "../app.ts";
import { lapseOutdated } from "../approvals/lapse.ts";
import { canonicalJson } from "../canonical.ts";
import { sha256Hex } from "../text.ts";
import type { Policy } from "./policy.ts";
import { mustPassTests } from "./policy_tests.ts";

type Choices = Omit<ShieldSettingsRecord, "id" | "version" | "policy"> & {
  readonly policy: Policy | null;
};

/** What may be changed; `agent_modes` replaces the whole map. */
export interface ShieldChange {
  readonly mode?: ShieldMode | undefined;
  readonly agent_modes?: Choices["agent_modes"] | undefined;
  readonly approvals?: Changes<Choices["approvals"]> | undefined;
  /** Replaces the whole policy; null takes it away. */
  readonly policy?: Policy | null | undefined;
}
type Changes<T> = { readonly [K in keyof T]?: T[K] | undefined };

const DEFAULTS: Choices = {
  mode: "enforce",
  agent_modes: {},
  approvals: { required: 1, roles: [], self_approval: false, expires_seconds: 3600 },
  policy: null,
};

/** A short name for exactly these choices. */
function withVersion(choices: Choices): ShieldSettingsRecord {
  const version = sha256Hex(canonicalJson(choices)).slice(0, 16);
  return { ...choices, id: "shield", version };
}

const defaults = withVersion(DEFAULTS);

/** Gives a new organization its settings, so that no command has to find out that there are none. */
export function insertShieldSettings(tx: Tx, org: string): void {
  for (const space of ["live", "test"] as const) {
    tx.insert(shieldSettings, { org, space }, defaults);
  }
}

/** How the shield of a tenant decides. */
export async function shieldSettingsOf(db: Reader, tenant: Tenant): Promise<ShieldSettingsRecord> {
  return await db.get(shieldSettings, tenant, "shield") ?? defaults;
}

/** Whether the shield's verdicts bind an agent. */
export const modeFor = (settings: ShieldSettingsRecord, agentId: string): ShieldMode =>
  settings.agent_modes[agentId] ?? settings.mode;

/** The organization's policy; null where it has none. */
export const policyOf = ({ policy }: ShieldSettingsRecord): Policy | null =>
  policy as Policy | null;

/** The settings as every answer shows them. */
export async function getShieldSettings({ db, actor }: Work) {
  return showSettings(await shieldSettingsOf(db, actor.tenant));
}

/**
 * Changes some of the settings; requests for approval under the earlier ones lapse.
 * @throws {Fault} VALIDATION_FAILED when a test of the policy fails
 */
export async function changeShieldSettings(work: Writing, change: ShieldChange) {
  const { app, actor, tx } = work;
  if (change.policy) mustPassTests(change.policy);
  const before = await shieldSettingsOf(tx, actor.tenant);
  const { required, roles, self_approval, expires_seconds } = change.approvals ?? {};
  const settings = withVersion({
    mode: change.mode ?? before.mode,
    agent_modes: change.agent_modes ?? before.agent_modes,
    approvals: {
      required: required ?? before.approvals.required,
      roles: roles ?? before.approvals.roles,
      self_approval: self_approval ?? before.approvals.self_approval,
      expires_seconds: expires_seconds ?? before.approvals.expires_seconds,
    },
    policy: change.policy === undefined ? policyOf(before) : change.policy,
  });
  tx.put(shieldSettings, actor.tenant, settings);
  if (settings.version !== before.version) {
    tx.afterCommit(() => lapseOutdated(app, actor.tenant, settings.version));
  }
  return showSettings(settings);
}

function showSettings(settings: ShieldSettingsRecord) {
  const { id: _id, version, ...shown } = settings;
  return { ...shown, policy: policyOf(settings), policy_version: version };
}
