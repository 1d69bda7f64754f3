import { z } from "zod";
import { collection, type Tenant } from "../store/collection.ts";
import type { Reader } from "../store/reader.ts";
import { madeWith, Sealed, StoredCreatedWith } from "./fields.ts";
import { Standing } from "./standing.ts";

export const GIT_PROVIDERS = ["github", "gitlab", "gitea", "generic"] as const;
export type GitProvider = (typeof GIT_PROVIDERS)[number];

/** The effect of an apply on one policy. */
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
  /** The URL that is fetched. */
  url: z.string(),
  /** Host and path, which are the same for every spelling of the URL. */
  address: z.string(),
  /** The Authorization header, sealed; null for a public repository. */
  sealed_authorization: Sealed.nullable(),
  /** The secret that signs or accompanies pushes, sealed. */
  sealed_webhook_secret: Sealed.nullable(),
  branch: z.string(),
  policy_path: z.string(),
  /** Null without scheduled syncs. */
  sync_seconds: z.int().nullable(),
  /** When the next scheduled sync fetches and applies; null for none. */
  due_at_ms: z.number().nullable(),
  /** When to fetch without applying, after an unsigned push. */
  look_at_ms: z.number().nullable().default(null), // absent in repositories of earlier versions
  /** Consecutive failed fetches. */
  failures: z.int(),
  last: z.strictObject({
    at_ms: z.number(),
    commit: z.string().nullable(),
    error: z.string().nullable(),
  }).nullable(),
  /** The head that was applied last; null makes the next sync fetch it again. */
  applied_commit: z.string().nullable(),
  /** A head that was fetched and not applied, with the first of its changes. */
  pending: z.strictObject({
    commit: z.string(),
    seen_at_ms: z.number(),
    changes: z.array(
      z.strictObject({ action: z.enum(PLAN_ACTIONS), name: z.string(), path: z.string() }),
    ),
    changes_total: z.int(),
  }).nullable().default(null), // absent in repositories of earlier versions
  /** The last apply, of any branch and path; absent before the first. */
  last_apply: z.strictObject({ serial: z.int(), commit: z.string() }).optional(),
  created_by: z.string(),
  /** The credential that made it. */
  created_with: StoredCreatedWith,
  standing: Standing,
  created_at_ms: z.number(),
});
export type RepositoryRecord = z.infer<typeof RepositoryRecord>;

/** The path of an address, which a sender may use without the host. */
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

/** A policy in force. */
export const PolicyItem = z.strictObject({
  id: z.string(),
  name: z.string(),
  repository_id: z.string(),
  /** The file in the repository. */
  path: z.string(),
  branch: z.string(),
  /** The version in force. */
  version: z.int(),
  /** The newest version, which differs from `version` after a rollback. */
  latest: z.int(),
  /** SHA-256 of the document in force, hex. */
  digest: z.string(),
  /** SHA-256 of the file's latest document, which differs after a rollback. */
  file_digest: z.string().optional(),
  /** The commit of the version in force. */
  commit: z.string(),
  /** The labels of the agents that it applies to. */
  labels: z.record(z.string(), z.string()),
  /** The document's size. */
  bytes: z.int(),
  /** Set by a rollback: the file's document at that time, which syncs do not apply again. */
  pin: z.strictObject({ digest: z.string(), by: z.string(), at_ms: z.number() }).nullable(),
  created_at_ms: z.number(),
  updated_at_ms: z.number(),
});
export type PolicyItem = z.infer<typeof PolicyItem>;

/** All policies in force of a tenant, in one record, so that they change at once. */
export const PolicySetRecord = z.strictObject({
  id: z.literal("policies"),
  /** A digest of exactly these documents; empty for none. */
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

/** A version of a policy, which never changes. */
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
  /** The document. Its schema is in core/. */
  document: z.unknown(),
  created_by: z.string(),
  /** The person whose rights Relay used to make it by itself; null when somebody asked for it. */
  on_behalf_of: z.string().nullable().default(null), // absent in versions of earlier programs
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

/** A push that was received, so that it is not handled twice. */
const GitDeliveryRecord = z.strictObject({ id: z.string(), expires_at_ms: z.number() });

export const gitDeliveries = collection({
  name: "git_deliveries",
  schema: GitDeliveryRecord,
  expiresAt: (delivery) => delivery.expires_at_ms,
});
