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

const Version = z.string().regex(/^[1-9][0-9]{0,5}$/, "must be the number of a version, such as 1")
  .meta({ description: "The number of a version.", examples: ["1"] });

const Policy = z.object({
  id: z.string(),
  name: z.string(),
  repository_id: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  version: z.string().describe("In force."),
  latest_version: z.string().describe("The newest one; another after a rollback."),
  digest: z.string(),
  agent_labels: z.record(z.string(), z.string()).describe("Labels of the agents that it concerns."),
  pinned: z.object({ by: z.string(), at: Timestamp }).meta({ id: "PolicyPin" }).nullable()
    .describe("After a rollback: who holds it at this version."),
  created_at: Timestamp,
  updated_at: Timestamp,
}).meta({ id: "GitPolicy" });

const PolicyVersion = z.object({
  policy_id: z.string(),
  name: z.string(),
  version: z.string(),
  digest: z.string().describe("SHA-256 of the document's canonical JSON."),
  repository: z.string(),
  path: z.string(),
  branch: z.string(),
  commit: z.string(),
  in_force: z.boolean(),
  created_by: z.string(),
  on_behalf_of: z.string().nullable().describe(
    "The person with whose right Relay itself made it by a sync; else null.",
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
        version: z.string().describe("The name of all of them together; empty for none."),
      }),
    },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listPolicies(work, query),
  }),
  route({
    id: "gitops.get_policy",
    method: "GET",
    path: "/api/v1/gitops/policies/{id}",
    summary: "One policy in force, with its document",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams,
    success: {
      status: 200,
      body: Policy.extend({ document: z.record(z.string(), z.unknown()) })
        .meta({ id: "GitPolicyDocument" }),
    },
    faults: ["POLICY_NOT_FOUND"],
    tool: { destructive: false },
    handle: (work, { params }, { policyCache }) => getPolicy(work, policyCache, params.id),
  }),
  route({
    id: "gitops.list_versions",
    method: "GET",
    path: "/api/v1/gitops/versions",
    summary: "List the versions of policies, the newest first",
    access: { scope: "policy:read" },
    effect: "read",
    query: PageQuery.extend({
      policy_id: Id.optional().meta({ description: "Versions of this policy." }),
    }),
    success: { status: 200, body: listOf("versions", PolicyVersion) },
    faults: ["POLICY_NOT_FOUND"],
    tool: { destructive: false },
    handle: (work, { query }) => listVersions(work, query),
  }),
  route({
    id: "gitops.get_version",
    method: "GET",
    path: "/api/v1/gitops/policies/{id}/versions/{version}",
    summary: "One version of a policy, with its document",
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
    summary: "What has changed between two versions of a policy",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams,
    query: z.strictObject({
      from: Version.meta({ description: "The number of the earlier version." }),
      to: Version.meta({ description: "The number of the later one." }),
    }),
    success: {
      status: 200,
      body: z.object({
        policy_id: z.string(),
        from: z.string(),
        to: z.string(),
        changes: z.array(
          z.object({
            path: z.string().describe("Where; rules stand there by their ids."),
            kind: z.enum(["added", "removed", "changed", "moved"]),
            before: z.unknown().optional(),
            after: z.unknown().optional(),
          }).meta({ id: "PolicyChange" }),
        ),
      }),
    },
    faults: ["POLICY_NOT_FOUND", "NOT_FOUND"],
    tool: { destructive: false },
    handle: (work, { params, query }) => diffVersions(work, params.id, query),
  }),
  route({
    id: "gitops.rollback",
    method: "POST",
    path: "/api/v1/gitops/rollback",
    summary: "Bring an earlier version of a policy back, and pin it",
    description:
      "Neither a sync nor an apply undoes it before the file says something else than it does now, or " +
      "the policy is unpinned.",
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
    tool: { destructive: true },
    handle: (work, { body }) => rollBack(work, body),
  }),
  route({
    id: "gitops.unpin",
    method: "POST",
    path: "/api/v1/gitops/policies/{id}/unpin",
    summary: "Let a policy follow its repository again",
    description: "The next sync or apply brings what the file says.",
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
