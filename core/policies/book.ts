import { type Tenant, tenantKey } from "../../kv/store/collection.ts";
import {
  type PolicyItem,
  type PolicySetRecord,
  policySets,
  policyVersions,
} from "../../kv/records/gitops.ts";
import { RecentMap } from "../../kv/store/recent.ts";
import type { Reader } from "../../kv/store/reader.ts";
import type { PolicyFrame } from "../protocol/protocol.ts";
import type { Policy } from "../shield/shield.ts";
import { policyVersionOf } from "../protocol/statements.ts";
import { sha256Hex } from "../codec/text.ts";
import type { NamedDocument } from "./document.ts";
import { concerns, type Merged, mergePolicies } from "./merge.ts";

/** Documents and results kept in memory, over all organizations. */
const DOCUMENTS_MAX = 2_000;
const MERGED_MAX = 1_000;
const VERSION_CHARS = 16;

/** The id of the one record of a tenant's policies. */
export const POLICIES_ID = "policies";

/** The policies of a tenant that has none. */
const NO_POLICIES: PolicySetRecord = { id: POLICIES_ID, version: "", items: [] };

/** All policies in force of a tenant. */
export const policySetOf = async (db: Reader, tenant: Tenant): Promise<PolicySetRecord> =>
  await db.get(policySets, tenant, POLICIES_ID) ?? NO_POLICIES;

/** A name for exactly these policies, in this order; empty for none. */
export const versionOfItems = (items: readonly PolicyItem[]): string =>
  items.length === 0
    ? ""
    : shortDigest(items.map(({ name, digest }) => `${name} ${digest}`).join("\n"));

const shortDigest = (text: string) => sha256Hex(text).slice(0, VERSION_CHARS);

/** The id of a version's record. */
export const versionId = ({ id, version }: Pick<PolicyItem, "id" | "version">): string =>
  `${id}.${String(version).padStart(6, "0")}`;

/** What an agent is told of the policies that concern it. */
export interface AgentPolicies {
  /** A name for exactly these documents. */
  readonly version: string;
  readonly documents: PolicyFrame["policies"];
}

/** What an agent holds that no policy concerns. */
export const NO_POLICY_VERSION = policyVersionOf([]);

/** The documents of the versions in force; versions never change, so memory of them is never stale. */
export class PolicyBook {
  readonly #documents = new RecentMap<NamedDocument>(DOCUMENTS_MAX);
  readonly #merged = new RecentMap<Merged>(MERGED_MAX);
  readonly #told = new RecentMap<AgentPolicies>(MERGED_MAX);

  constructor(private readonly store: () => Reader) {}

  /** What all policies together say of an agent with these labels, with the organization's own. */
  mergedFor(
    tenant: Tenant,
    set: PolicySetRecord,
    own: { readonly version: string; readonly policy: Policy | null },
    labels: Readonly<Record<string, string>>,
  ): Merged | Promise<Merged> {
    return set.items.length === 0
      ? { policy: own.policy, mode: null, retentionDays: null }
      : this.#merge(tenant, set, own, labels);
  }

  async #merge(
    tenant: Tenant,
    set: PolicySetRecord,
    own: { readonly version: string; readonly policy: Policy | null },
    labels: Readonly<Record<string, string>>,
  ): Promise<Merged> {
    const items = set.items.filter((item) => concerns({ agents: item }, labels));
    const key = `${tenantKey(tenant)} ${own.version} ${items.map(versionId).join(" ")}`;
    const known = this.#merged.get(key);
    if (known !== undefined) return known;
    const merged = mergePolicies(await this.documentsOf(tenant, items), own.policy);
    this.#merged.set(key, merged);
    return merged;
  }

  /** What is told to an agent with these labels: the policies that concern it, without their tests. */
  async forAgent(
    tenant: Tenant,
    set: PolicySetRecord,
    labels: Readonly<Record<string, string>>,
  ): Promise<AgentPolicies> {
    const items = set.items.filter((item) => concerns({ agents: item }, labels));
    const key = `${tenantKey(tenant)} ${items.map(versionId).join(" ")}`;
    const known = this.#told.get(key);
    if (known !== undefined) return known;
    const found = await this.documentsOf(tenant, items);
    const documents = found.map(({ tests: _tests, description: _description, ...rest }) => rest);
    const told = { version: policyVersionOf(documents), documents };
    this.#told.set(key, told);
    return told;
  }

  /** @throws {Error} when a version's record is gone, so that nothing is judged without it */
  async documentsOf(tenant: Tenant, items: readonly PolicyItem[]): Promise<NamedDocument[]> {
    const found = [];
    for (const item of items) {
      const id = versionId(item);
      const key = `${tenantKey(tenant)}/${id}`;
      let document = this.#documents.get(key);
      if (document === undefined) {
        const record = await this.store().get(policyVersions, tenant, id);
        if (record === null) throw new Error(`${key} is in force and not in the store`);
        document = record.document as NamedDocument;
        this.#documents.set(key, document);
      }
      found.push(document);
    }
    return found;
  }
}
