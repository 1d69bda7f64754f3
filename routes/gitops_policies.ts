import { z } from "zod";
import {
  diffVersions,
  getPolicy,
  getVersion,
  listPolicies,
  listVersions,
  rollBack,
  unpin,
} from "../core/policies/policies.ts";
import { route } from "./call/route.ts";
import { Id, IdParams, listOf, PageQuery, Pagination, Timestamp } from "./schemas/schemas.ts";

const Version = z.string().regex(/^[1-9][0-9]{0,5}$/, "must be a version number, such as 1")
  .meta({ description: "The version number.", examples: ["1"] });

const Policy = z.object({
  id: z.string(),
  name: z.string(),
  repository_id: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  version: z.string().describe("The version in force."),
  latest_version: z.string().describe(
    "The newest version; it differs from `version` after a rollback.",
  ),
  digest: z.string(),
  agent_labels: z.record(z.string(), z.string()).describe("The labels that select agents."),
  pinned: z.object({ by: z.string(), at: Timestamp }).meta({ id: "PolicyPin" }).nullable()
    .describe("Who pinned this version by a rollback, and when; null if nobody did."),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "GitPolicy" });

const PolicyVersion = z.object({
  policy_id: z.string(),
  name: z.string(),
  version: z.string(),
  digest: z.string().describe("The SHA-256 of the document's canonical JSON."),
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  in_force: z.boolean(),
  created_by: z.string(),
  on_behalf_of: z.string().nullable().describe(
    "The user with whose rights a sync created it; null otherwise.",
  ),
  created_at: Timestamp,
}).meta({ id: "PolicyVersion" });

export const gitopsPolicyRoutes = [
  route({
    id: "gitops.list_policies",
    method: "GET",
    path: "/api/v1/gitops/policies",
    summary: "List the policies in force",
    access: { scope: "policy:read" },
    effect: "read",
    query: PageQuery,
    success: {
      status: 200,
      body: z.object({
        policies: z.array(Policy),
        pagination: Pagination,
        version: z.string().describe("The version of the whole set of policies; empty for none."),
      }),
    },
    faults: [],
    tool: { name: "list_policies", destructive: false },
    handle: (work, { query }) => listPolicies(work, query),
  }),
  route({
    id: "gitops.get_policy",
    method: "GET",
    path: "/api/v1/gitops/policies/{id}",
    summary: "Get a policy in force",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams,
    success: {
      status: 200,
      body: Policy.extend({ document: z.record(z.string(), z.unknown()) })
        .meta({ id: "GitPolicyDocument" }),
    },
    faults: ["POLICY_NOT_FOUND"],
    tool: { name: "get_policy", destructive: false },
    handle: (work, { params }, { policyCache }) => getPolicy(work, policyCache, params.id),
  }),
  route({
    id: "gitops.list_versions",
    method: "GET",
    path: "/api/v1/gitops/versions",
    summary: "List policy versions, newest first",
    access: { scope: "policy:read" },
    effect: "read",
    query: PageQuery.extend({
      policy_id: Id.optional().meta({ description: "Versions of this policy." }),
    }),
    success: { status: 200, body: listOf("versions", PolicyVersion) },
    faults: ["POLICY_NOT_FOUND"],
    tool: { name: "list_policy_versions", destructive: false },
    handle: (work, { query }) => listVersions(work, query),
  }),
  route({
    id: "gitops.get_version",
    method: "GET",
    path: "/api/v1/gitops/policies/{id}/versions/{version}",
    summary: "Get a version of a policy",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams.extend({ version: Id }),
    success: {
      status: 200,
      body: PolicyVersion.extend({ document: z.record(z.string(), z.unknown()) })
        .meta({ id: "PolicyVersionDocument" }),
    },
    faults: ["POLICY_NOT_FOUND", "NOT_FOUND"],
    handle: (work, { params }) => getVersion(work, params.id, params.version),
  }),
  route({
    id: "gitops.diff",
    method: "GET",
    path: "/api/v1/gitops/policies/{id}/diff",
    summary: "Compare two versions of a policy",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams,
    query: z.strictObject({
      from: Version.meta({ description: "The earlier version number." }),
      to: Version.meta({ description: "The later version number." }),
    }),
    success: {
      status: 200,
      body: z.object({
        policy_id: z.string(),
        from: z.string(),
        to: z.string(),
        changes: z.array(
          z.object({
            path: z.string().describe("The path of the change; rules are addressed by id."),
            kind: z.enum(["added", "removed", "changed", "moved"]),
            before: z.unknown().optional(),
            after: z.unknown().optional(),
          }).meta({ id: "PolicyChange" }),
        ),
      }),
    },
    faults: ["POLICY_NOT_FOUND", "NOT_FOUND"],
    tool: { name: "compare_policy_versions", destructive: false },
    handle: (work, { params, query }) => diffVersions(work, params.id, query),
  }),
  route({
    id: "gitops.rollback",
    method: "POST",
    path: "/api/v1/gitops/rollback",
    summary: "Roll a policy back and pin it",
    description:
      "No sync or apply changes the pinned version until the policy's file changes or the " +
      "policy is unpinned.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: {
      event: "policy_rolled_back",
      resource: "policy",
      id: ({ id }) => id,
      details: ({ name, version, latest_version }) => ({ name, version, latest_version }),
    },
    body: z.strictObject({ policy_id: Id, version: Version }),
    success: { status: 200, body: Policy },
    faults: ["POLICY_NOT_FOUND", "NOT_FOUND"],
    tool: { name: "roll_back_policy", destructive: true },
    handle: (work, { body }) => rollBack(work, body),
  }),
  route({
    id: "gitops.unpin",
    method: "POST",
    path: "/api/v1/gitops/policies/{id}/unpin",
    summary: "Unpin a policy",
    description: "The next sync or apply takes the version of the file.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: {
      event: "policy_unpinned",
      resource: "policy",
      id: ({ id }) => id,
      details: ({ name, version }) => ({ name, version }),
    },
    params: IdParams,
    body: z.strictObject({}),
    success: { status: 200, body: Policy },
    faults: ["POLICY_NOT_FOUND", "CONFLICT"],
    handle: (work, { params }, { syncs }) => unpin(work, syncs, params.id),
  }),
];
