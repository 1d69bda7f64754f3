import { type PolicyItem, policySetOf } from "../../kv/records/gitops.ts";
import type { Work } from "../work/work.ts";
import { Fault } from "../fault/fault.ts";
import { pageOf, type Paging } from "../../kv/store/paging.ts";
import { iso } from "../codec/codec.ts";
import type { PolicyCache } from "./policy_cache.ts";

/** The policies in force, in the order in which the shield applies them. */
export async function listPolicies({ db, actor }: Work, paging: Paging) {
  const set = await policySetOf(db, actor.tenant);
  const { items, pagination } = pageOf(set.items, paging);
  return { policies: items.map(showPolicy), pagination, version: set.version };
}

/** One policy in force, with its document. @throws {Fault} POLICY_NOT_FOUND */
export async function getPolicy(
  { db, actor: { tenant } }: Work,
  policyCache: PolicyCache,
  id: string,
) {
  const item = ownedPolicy((await policySetOf(db, tenant)).items, id);
  const [document] = await policyCache.documentsOf(tenant, [item]);
  return { ...showPolicy(item), document: { ...document } };
}

/** The caller's policy, if it is in force. @throws {Fault} POLICY_NOT_FOUND */
export function ownedPolicy(items: readonly PolicyItem[], id: string): PolicyItem {
  const item = items.find((one) => one.id === id);
  if (item === undefined) throw new Fault("POLICY_NOT_FOUND");
  return item;
}

/** A policy in force as every answer shows it. */
export function showPolicy(item: PolicyItem) {
  return {
    id: item.id,
    name: item.name,
    repository_id: item.repository_id,
    path: item.path,
    branch: item.branch,
    commit: item.commit,
    version: String(item.version),
    latest_version: String(item.latest),
    digest: item.digest,
    agent_labels: item.labels,
    pinned: item.pin && { by: item.pin.by, at: iso(item.pin.at_ms) },
    created_at: iso(item.created_at_ms),
    updated_at: iso(item.updated_at_ms),
  };
}
