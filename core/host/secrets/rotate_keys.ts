import { SYSTEM, type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { everyListed } from "../../../kv/store/iterate.ts";
import { agents } from "../../../kv/records/agent.ts";
import { installations } from "../../../kv/records/installation.ts";
import { organizations } from "../../../kv/records/organization.ts";
import { verdictKeys } from "../../../kv/records/verdict_key.ts";
import type { Store } from "../../../kv/store/store.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import { pinsThatFollow, rotateVerdictKey } from "../../agents/agents.ts";
import { type KeyMaker, rotateAuditKey } from "../../events/events.ts";
import { admitSecrets } from "./installation.ts";
import { tenantsOf } from "../tenants.ts";

/** The kinds of keys that sign for a tenant, each with the function that rotates it and returns the new key as text. */
const KINDS = {
  verdict: rotateVerdictKey,
  audit: rotateAuditKey,
} as const satisfies Readonly<
  Record<string, (by: KeyMaker, tx: Tx, tenant: Tenant) => Promise<string>>
>;

/** The kinds of keys that can be rotated. */
export type KeyKind = keyof typeof KINDS;
export const KEY_KINDS = Object.keys(KINDS) as KeyKind[];

/** Which keys to rotate. */
export interface Rotation {
  readonly kind: KeyKind;
  /** One organization, or null for all of them. */
  readonly organization: string | null;
  /** True to continue although some agents cannot follow to a new verdict key. */
  readonly leaveBehind: boolean;
}

const PAGE = 100;
/** Maximum number of agents that the error names. */
const NAMED_MAX = 10;

/**
 * Replaces each tenant's key, one tenant in a commit: when interrupted, each tenant has its old key or its new one.
 * @throws {Error} before any change, when a secret or the organization is missing or agents would refuse the new
 * key; later, when a key does not open
 */
export async function rotateKeys(
  store: Store,
  by: KeyMaker,
  { kind, organization, leaveBehind }: Rotation,
  report: (tenant: string, key: string) => void,
): Promise<void> {
  const installation = await store.get(installations, SYSTEM, "installation");
  if (installation === null) {
    throw new Error("the store has no signing keys: no relay has used it yet");
  }
  await store.transact((tx) => admitSecrets(tx, by.sealer, installation));
  if (organization !== null && await store.get(organizations, SYSTEM, organization) === null) {
    throw new Error(`there is no organization ${JSON.stringify(organization)}`);
  }
  if (kind === "verdict" && !leaveBehind) await mustNotLoseAgents(store, organization);
  for await (const tenant of tenantsOf(store, organization)) {
    report(tenantKey(tenant), await store.transact((tx) => KINDS[kind](by, tx, tenant)));
  }
}

/**
 * @throws {Error} when agents would refuse a new verdict key: they cannot follow handovers, or missed so many that
 * one of these would be dropped
 */
async function mustNotLoseAgents(store: Store, organization: string | null): Promise<void> {
  const named: string[] = [];
  let behind = 0;
  for await (const tenant of tenantsOf(store, organization)) {
    const key = await store.get(verdictKeys, tenant, tenantKey(tenant));
    const following = key && pinsThatFollow(key);
    const all = everyListed(store, agents, tenant, { limit: PAGE });
    for await (const { id, name, verdict_key } of all) {
      if (verdict_key !== null && following?.has(verdict_key)) continue;
      if (behind++ < NAMED_MAX) {
        named.push(`${name} (${id} of ${tenantKey(tenant)})`);
      }
    }
  }
  if (behind === 0) return;
  const more = behind > named.length ? ` and ${behind - named.length} more` : "";
  throw new Error(
    `${behind} agents would refuse a new verdict key for good: ${
      named.join(", ")
    }${more}. Update them and ` +
      "let each connect once, delete those that are gone, or pass --leave-behind and write the new key into " +
      "their state directories by hand",
  );
}
