import { SYSTEM, type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { agents } from "../../../kv/records/agent.ts";
import { installations } from "../../../kv/records/installation.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { verdictKeys } from "../../../kv/records/verdict_key.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { pinsThatFollow, rotateVerdictKey } from "../../agents/verdict_keys.ts";
import { rotateAuditKey } from "../../events/trail/audit_keys.ts";
import { admitSecrets } from "./installation.ts";
import type { KeyMaker } from "../../events/trail/tenant_keys.ts";
import { tenantsOf } from "../tenants.ts";
import { printableLine } from "../../codec/text.ts";

/** The kinds of keys that sign for a tenant, and how one is changed: it answers the new one as text. */
const KINDS = {
  verdict: rotateVerdictKey,
  audit: rotateAuditKey,
} as const satisfies Readonly<
  Record<string, (by: KeyMaker, tx: Tx, tenant: Tenant) => Promise<string>>
>;

/** What may be changed. */
export type KeyKind = keyof typeof KINDS;
export const KEY_KINDS = Object.keys(KINDS) as KeyKind[];

/** Whose keys are changed. */
export interface Rotation {
  readonly kind: KeyKind;
  /** One organization, or null for all of them. */
  readonly organization: string | null;
  /** True when agents that cannot follow a new verdict key are left to people. */
  readonly leaveBehind: boolean;
}

const PAGE = 100;
/** Agents that would stay behind are named up to here. */
const NAMED_MAX = 10;

/**
 * Puts a new key in the place of each tenant's, one tenant a commit: cut off at any point, each has its old
 * one or its new one.
 * @throws {Error} before anything is changed, when a secret is missing, there is no such organization or agents
 * would stay behind; later, when a key does not open
 */
export async function rotateKeys(
  store: Store,
  by: KeyMaker,
  { kind, organization, leaveBehind }: Rotation,
  report: (tenant: string, key: string) => void,
): Promise<void> {
  const installation = await store.get(installations, SYSTEM, "installation");
  if (installation === null) throw new Error("nothing was ever signed here: there is no key");
  await store.transact((tx) => admitSecrets(tx, by.sealer, installation));
  if (organization !== null && await store.get(organizations, SYSTEM, organization) === null) {
    throw new Error(`there is no organization ${JSON.stringify(organization)}`);
  }
  if (kind === "verdict" && !leaveBehind) await refuseToLose(store, organization);
  for await (const tenant of tenantsOf(store, organization)) {
    report(tenantKey(tenant), await store.transact((tx) => KINDS[kind](by, tx, tenant)));
  }
}

/**
 * @throws {Error} when agents would refuse a new verdict key: they follow no hand-over, or were away for so many
 * that the first of them would be forgotten
 */
async function refuseToLose(store: Store, organization: string | null): Promise<void> {
  const named: string[] = [];
  let behind = 0;
  for await (const tenant of tenantsOf(store, organization)) {
    const key = await store.get(verdictKeys, tenant, tenantKey(tenant));
    const following = key && pinsThatFollow(key);
    const all = everyListed(store, agents, tenant, { limit: PAGE });
    for await (const { id, name, verdict_key } of all) {
      if (verdict_key !== null && following?.has(verdict_key)) continue;
      if (behind++ < NAMED_MAX) {
        named.push(`${printableLine(name)} (${id} of ${tenantKey(tenant)})`);
      }
    }
  }
  if (behind === 0) return;
  const more = behind > named.length ? ` and ${behind - named.length} more` : "";
  throw new Error(
    `${behind} agents would refuse a new verdict key for good: ${
      named.join(", ")
    }${more}. Update them and ` +
      "let each connect once, or delete those that are gone; or leave them to people with --leave-behind",
  );
}
