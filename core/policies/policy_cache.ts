import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { type PolicyItem, type PolicySetRecord, policyVersions } from "../../kv/records/gitops.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { AgentPolicies, MergedPolicy } from "../agents/agents.ts";
import { policyVersionOf } from "../protocol/protocol.ts";
import type { Policy } from "../shield/shield.ts";
import type { NamedDocument } from "./documents/document.ts";
import { concerns, mergePolicies } from "./documents/merge.ts";
import { versionId } from "./policy_set.ts";

/** Documents kept in memory, over all organizations. */
const DOCUMENTS_MAX = 2_000;
/** Results of merging kept in memory, over all organizations. */
const MERGED_MAX = 1_000;

/** Reads the documents of policies in force and merges them; versions never change, so no entry becomes stale. */
export class PolicyCache {
  readonly #documents = new RecentMap<NamedDocument>(DOCUMENTS_MAX);
  readonly #merged = new RecentMap<MergedPolicy>(MERGED_MAX);
  readonly #ofAgents = new RecentMap<AgentPolicies>(MERGED_MAX);

  constructor(private readonly db: Reader) {}

  /** All policies for an agent with these labels, merged with the organization's own policy. */
  mergedFor(
    tenant: Tenant,
    set: PolicySetRecord,
    own: { readonly version: string; readonly policy: Policy | null },
    labels: Readonly<Record<string, string>>,
  ): MergedPolicy | Promise<MergedPolicy> {
    return set.items.length === 0
      ? { policy: own.policy, mode: null, retentionDays: null }
      : this.#merge(tenant, set, own, labels);
  }

  async #merge(
    tenant: Tenant,
    set: PolicySetRecord,
    own: { readonly version: string; readonly policy: Policy | null },
    labels: Readonly<Record<string, string>>,
  ): Promise<MergedPolicy> {
    const items = set.items.filter((item) => concerns({ agents: item }, labels));
    const key = `${tenantKey(tenant)} ${own.version} ${items.map(versionId).join(" ")}`;
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const merged = mergePolicies(await this.documentsOf(tenant, items), own.policy);
    this.#merged.set(key, merged);
    return merged;
  }

  /** The policies that concern an agent with these labels, without their tests and descriptions. */
  async forAgent(
    tenant: Tenant,
    set: PolicySetRecord,
    labels: Readonly<Record<string, string>>,
  ): Promise<AgentPolicies> {
    const items = set.items.filter((item) => concerns({ agents: item }, labels));
    const key = `${tenantKey(tenant)} ${items.map(versionId).join(" ")}`;
    const known = this.#ofAgents.get(key);
    if (known !== undefined) return known;
    const found = await this.documentsOf(tenant, items);
    const documents = found.map(({ tests: _tests, description: _description, ...rest }) => rest);
    const policies = { version: policyVersionOf(documents), documents };
    this.#ofAgents.set(key, policies);
    return policies;
  }

  /** @throws {Error} when the record of a version is missing: no command may be judged without it */
  async documentsOf(tenant: Tenant, items: readonly PolicyItem[]): Promise<NamedDocument[]> {
    const found = [];
    for (const item of items) {
      const id = versionId(item);
      const key = `${tenantKey(tenant)}/${id}`;
      let document = this.#documents.get(key);
      if (document === undefined) {
        const record = await this.db.get(policyVersions, tenant, id);
        if (record === null) throw new Error(`policy version ${key} is in force but not stored`);
        document = record.document as NamedDocument;
        this.#documents.set(key, document);
      }
      found.push(document);
    }
    return found;
  }
}
