import { z } from "zod";
import { collection, type Tenant } from "../store/collection.ts";
import type { Reader } from "../store/reader.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

export const GIT_PROVIDERS = ["github", "gitlab", "gitea", "generic"] as const;
export type GitProvider = (typeof GIT_PROVIDERS)[number];

/** What an apply does to one policy. */
export const PLAN_ACTIONS = [
  "create",
  "update",
  "delete",
  "unchanged",
  "pinned",
  "unpin",
] as const;

/** A Git repository that policies may come from. */
export const RepositoryRecord = z.strictObject({
  id: z.string(),
  name: z.string(),
  provider: z.enum(GIT_PROVIDERS),
  /** As it is dialled. */
  url: z.string(),
  /** Host and path, by which any spelling of the address is found. */
  address: z.string(),
  /** What the Authorization header says; sealed, null for a public repository. */
  sealed_authorization: Sealed.nullable(),
  /** What the sender of pushes signs with or shows; sealed. */
  sealed_webhook_secret: Sealed.nullable(),
  branch: z.string(),
  policy_path: z.string(),
  /** Null when nobody asked for it. */
  sync_seconds: z.int().nullable(),
  /** When the host is asked next and what it says is applied; null for never by itself. */
  due_at_ms: z.number().nullable(),
  /** When the host is asked only for what is pending, after a push that nobody signed. */
  look_at_ms: z.number().nullable().default(null), // not there in repositories of earlier versions
  /** Fetches in a row that failed. */
  failures: z.int(),
  last: z.strictObject({
    at_ms: z.number(),
    commit: z.string().nullable(),
    error: z.string().nullable(),
  }).nullable(),
  /** The head that was applied last; null makes the next look fetch it again. */
  applied_commit: z.string().nullable(),
  /** A head that was seen and not applied, with the first of what it would change. */
  pending: z.strictObject({
    commit: z.string(),
    seen_at_ms: z.number(),
    changes: z.array(
      z.strictObject({ action: z.enum(PLAN_ACTIONS), name: z.string(), path: z.string() }),
    ),
    changes_total: z.int(),
  }).nullable().default(null), // not there in repositories of earlier versions
  /** The apply that was carried out last, of any branch and path; absent before the first. */
  last_apply: z.strictObject({ serial: z.int(), commit: z.string() }).optional(),
  created_by: z.string(),
  /** The credential that it was made with. */
  created_with: StoredCreatedWith,
  standing: Standing,
  created_at_ms: z.number(),
});
export type RepositoryRecord = z.infer<typeof RepositoryRecord>;

/** The last part of an address, by which a sender may name a repository without its host. */
const pathOf = (address: string) => address.slice(address.indexOf("/") + 1);

export const repositories = collection({
  name: "git_repositories",
  schema: RepositoryRecord,
  unique: { address: (repository) => [repository.address] },
  index: { made_with: (repository) => madeWith(repository.created_with) },
  queue: {
    due: ({ due_at_ms, look_at_ms }) =>
      due_at_ms === null && look_at_ms === null
        ? null
        : [Math.min(due_at_ms ?? Infinity, look_at_ms ?? Infinity)],
    pushed: ({ address }) => [address.toLowerCase()],
    pushed_path: ({ address }) => [pathOf(address).toLowerCase()],
  },
  counted: true,
});

/** One policy that is in force. */
export const PolicyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  repository_id: z.string(),
  /** The file in the repository. */
  path: z.string(),
  branch: z.string(),
  /** The version in force. */
  version: z.int(),
  /** The newest one; another than `version` after a rollback. */
  latest: z.int(),
  /** SHA-256 of the document in force, in hex. */
  digest: z.string(),
  /** The same of what the file said last, which is something else after a rollback. */
  file_digest: z.string().optional(),
  /** The commit that the version in force came with. */
  commit: z.string(),
  /** Labels that an agent must have to be concerned. */
  labels: z.record(z.string(), z.string()),
  /** Bytes of the document. */
  bytes: z.int(),
  /** After a rollback: what the file said then, which does not come back by itself. */
  pin: z.strictObject({ digest: z.string(), by: z.string(), at_ms: z.number() }).nullable(),
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type PolicyItem = z.infer<typeof PolicyItem>;

/** All policies in force of a tenant: one record, so that they change in one step. */
export const PolicySetRecord = z.strictObject({
  id: z.literal("policies"),
  /** A name for exactly these documents; empty for none. */
  version: z.string(),
  items: z.array(PolicyItem),
});
export type PolicySetRecord = z.infer<typeof PolicySetRecord>;

export const policySets = collection({
  name: "policy_sets",
  schema: PolicySetRecord,
  cached: 20_000,
});

/** The id of a tenant's one record of policies. */
export const POLICIES_ID = "policies";

/** The record of a tenant without policies. */
export const NO_POLICIES: PolicySetRecord = { id: POLICIES_ID, version: "", items: [] };

/** A tenant's policies in force. */
export const policySetOf = async (db: Reader, tenant: Tenant): Promise<PolicySetRecord> =>
  await db.get(policySets, tenant, POLICIES_ID) ?? NO_POLICIES;

/** A version of a policy; it never changes. */
export const PolicyVersionRecord = z.strictObject({
  /** The policy's id and the number of the version. */
  id: z.string(),
  policy_id: z.string(),
  name: z.string(),
  version: z.int(),
  digest: z.string(),
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  /** The document, as its schema in core/ says. */
  document: z.unknown(),
  created_by: z.string(),
  /** The person with whose right Relay itself made it; null where somebody asked for it. */
  on_behalf_of: z.string().nullable().default(null), // not there in versions of earlier programs
  created_at_ms: z.number(),
});
export type PolicyVersionRecord = z.infer<typeof PolicyVersionRecord>;

export const policyVersions = collection({
  name: "policy_versions",
  schema: PolicyVersionRecord,
  index: {
    policy: (version) => [version.policy_id, version.version],
    age: (version) => [version.created_at_ms],
  },
  counted: true,
});

/** A push that was heard of, so that it is not obeyed twice. */
const GitDeliveryRecord = z.strictObject({ id: z.string(), expires_at_ms: z.number() });

export const gitDeliveries = collection({
  name: "git_deliveries",
  schema: GitDeliveryRecord,
  expiresAt: (delivery) => delivery.expires_at_ms,
});
