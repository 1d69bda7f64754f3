import { z } from "zod";
import {
  adoptRepository,
  applyPolicies,
  claimsProof,
  createRepository,
  deleteRepository,
  getRepository,
  isProvedPush,
  listRepositories,
  receivePush,
} from "../core/policies/policies.ts";
import { GIT_PROVIDERS, PLAN_ACTIONS } from "../kv/records/gitops.ts";
import { route } from "./call/route.ts";
import {
  Accepted,
  ADOPTION,
  anything,
  CreatedWith,
  excludes,
  IdParams,
  listOf,
  Name,
  PageQuery,
  standing,
  Timestamp,
} from "./schemas/schemas.ts";
import { Replay, REPLAY_MAX } from "./shield.ts";

const URL_CHARS_MAX = 200;
const PATH_CHARS_MAX = 150;
const SECRET_CHARS_MAX = 4096;
const PUSH_BYTES_MAX = 2 * 1024 * 1024;
const SYNC_SECONDS_MIN = 60;
const SYNC_SECONDS_MAX = 24 * 60 * 60;

const RepoUrl = z.string().min(1).max(URL_CHARS_MAX)
  .meta({
    description: "The address by which it is cloned, over HTTPS.",
    examples: ["https://git.example.com/policies.git"],
  });
/** The rules of `git check-ref-format` that matter here. */
const Branch = z.string().min(1).max(200).regex(
  /^(?![-/.])(?!.*(\.\.|\/\/|\/\.|@\{))[^\p{Cc} ~^:?*[\\]+(?<![/.])$/u,
  "is no name of a branch",
).meta({ description: "A branch.", examples: ["main"] });
const PolicyPath = z.string().max(PATH_CHARS_MAX)
  .regex(/^[^\p{Cc}\\]*$/u, "no control characters and no backslash")
  .refine((path) => !path.split("/").includes(".."), "leads out of the repository")
  .meta({
    description: "A file, or a folder of them; empty for the whole repository.",
    examples: ["policies"],
  });
const Secret = z.string().min(1).max(SECRET_CHARS_MAX).regex(
  /^[^\p{Cc}]*$/u,
  "no control characters",
);

const GitProvider = z.enum(GIT_PROVIDERS).meta({ id: "GitProvider" });
const PlanAction = z.enum(PLAN_ACTIONS).meta({ id: "PlanAction" });
const Repository = z.object({
  id: z.string(),
  name: z.string(),
  provider: GitProvider,
  url: z.string(),
  branch: z.string(),
  policy_path: z.string(),
  has_credentials: z.boolean(),
  has_webhook_secret: z.boolean(),
  sync_seconds: z.int().nullable().describe("How often it is looked at; null for never by itself."),
  last_sync: z.object({
    at: Timestamp,
    commit: z.string().nullable(),
    error: z.string().nullable().describe("Why the last look came to nothing."),
  }).nullable(),
  applied_commit: z.string().nullable().describe("The head of the branch that is in force."),
  pending: z.object({
    commit: z.string(),
    seen_at: Timestamp,
    changes: z.array(
      z.object({ action: PlanAction, name: z.string(), path: z.string() }),
    ).describe("The first 20 changes; a dry run of the apply shows all."),
    changes_total: z.int(),
  }).nullable().describe("A head that an unsigned push made Relay see, and that is not in force."),
  ...standing,
  created_by: z.string(),
  created_with: CreatedWith,
  created_at: Timestamp,
}).meta({ id: "Repository" });

const PlanStep = z.object({
  action: PlanAction.describe(
    "`pinned`: a rollback holds it, though the file says otherwise. `unpin`: the file says the same as " +
      "the version in force, so the pin has no meaning any more.",
  ),
  policy_id: z.string().nullable().describe("Null where a dry run would create the policy."),
  name: z.string(),
  path: z.string(),
  version: z.string().nullable().describe("In force afterwards; null when it is deleted."),
  previous_version: z.string().nullable(),
  digest: z.string().nullable().describe("SHA-256 of the document in force afterwards."),
}).meta({ id: "PlanStep" });

const Applied = z.object({
  dry_run: z.boolean(),
  commit: z.string().describe("The head of the branch."),
  policy_id: z.string().nullable().describe(
    "The policy that stands under the path, where it is exactly one; `plan` names each of several.",
  ),
  changed: z.boolean().describe("False for a plan that leaves everything as it is."),
  plan: z.array(PlanStep).describe("Every policy that is concerned, deletions too."),
  version: z.string().describe("The name of all policies in force afterwards; empty for none."),
  replay: Replay.nullable(),
}).meta({ id: "PolicyApply" });

const RepositoryBody = z.strictObject({
  name: Name.meta({ examples: ["policies"] }),
  provider: GitProvider,
  url: RepoUrl,
  branch: Branch.default("main"),
  policy_path: PolicyPath.default(""),
  token: Secret.optional().describe("An access token of the host."),
  username: Secret.optional().describe("Instead of a token, with `password`."),
  password: Secret.optional(),
  webhook_secret: Secret.min(8).optional().describe(
    "What the host signs its pushes with, or shows. With one, an unsigned push does nothing; without, " +
      "a push is only shown as `pending`.",
  ),
  sync_seconds: z.int().min(SYNC_SECONDS_MIN).max(SYNC_SECONDS_MAX).nullable().default(null)
    .describe("Look for what was pushed this often, and apply it. Null: only after a signed push."),
}).superRefine(({ token, username, password }, context) => {
  const complain = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (token !== undefined && username !== undefined) {
    complain("token", "is beside `username`: give one of them");
  }
  if ((username === undefined) !== (password === undefined)) {
    complain(
      username === undefined ? "username" : "password",
      "is missing: `username` and `password` go together",
    );
  }
  if (username?.includes(":")) complain("username", "holds a colon");
}).meta({
  ...excludes("token", "username", "password"),
  dependentRequired: { username: ["password"], password: ["username"] },
});

export const gitopsRoutes = [
  route({
    id: "gitops.list_repositories",
    method: "GET",
    path: "/api/v1/gitops/repos",
    summary: "List the Git repositories that policies may come from",
    access: { scope: "policy:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("repositories", Repository) },
    faults: [],
    tool: { destructive: false },
    handle: (work, { query }) => listRepositories(work, query),
  }),
  route({
    id: "gitops.create_repository",
    method: "POST",
    path: "/api/v1/gitops/repos",
    summary: "Register a Git repository",
    description:
      "Credentials are kept sealed and shown to nobody. Nothing is fetched before the first " +
      "apply, unless `sync_seconds` is given.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: {
      event: "repository_created",
      resource: "repository",
      id: ({ id }) => id,
      details: ({ name, provider, url, branch, policy_path, sync_seconds }) => ({
        name,
        provider,
        url,
        branch,
        policy_path,
        sync_seconds,
      }),
    },
    body: RepositoryBody,
    rules: {
      "body.policy_path": "stays within the repository",
      "body.url": "is an https address of a repository",
      "body.username": "holds no colon",
    },
    success: { status: 201, body: Repository },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { syncs }) => createRepository(work, syncs, body),
  }),
  route({
    id: "gitops.get_repository",
    method: "GET",
    path: "/api/v1/gitops/repos/{id}",
    summary: "One repository, and how its last sync went",
    access: { scope: "policy:read" },
    effect: "read",
    params: IdParams,
    success: { status: 200, body: Repository },
    faults: ["NOT_FOUND"],
    handle: (work, { params }) => getRepository(work, params.id),
  }),
  route({
    id: "gitops.adopt_repository",
    method: "POST",
    path: "/api/v1/gitops/repos/{id}/adopt",
    summary: "Take over a repository that is suspended",
    description: ADOPTION,
    access: { scope: "policy:write" },
    effect: "write",
    audit: { byRule: "standing_adopted" },
    params: IdParams,
    success: { status: 200, body: Repository },
    faults: ["NOT_FOUND", "FORBIDDEN", "CONFLICT"],
    handle: (work, { params }, { syncs }) => adoptRepository(work, syncs, params.id),
  }),
  route({
    id: "gitops.delete_repository",
    method: "DELETE",
    path: "/api/v1/gitops/repos/{id}",
    summary: "Remove a repository",
    description: "One whose policies are in force stays, unless `policies=delete` ends them too.",
    access: { scope: "policy:write" },
    effect: "write",
    audit: {
      event: "repository_deleted",
      resource: "repository",
      id: ({ id }) => id,
      details: ({ name, url }) => ({ name, url }),
    },
    params: IdParams,
    query: z.strictObject({
      policies: z.enum(["delete"]).optional().meta({
        description: "`delete` ends the policies that came from it too.",
      }),
    }),
    success: {
      status: 204,
      about: z.object({ id: z.string(), name: z.string(), url: z.string() }),
    },
    faults: ["NOT_FOUND", "CONFLICT"],
    handle: (work, { params, query }) =>
      deleteRepository(work, params.id, query.policies === "delete"),
  }),
  route({
    id: "gitops.apply",
    method: "POST",
    path: "/api/v1/gitops/apply",
    summary: "Bring the policies of a branch into force, or show what that would do",
    description:
      "What stands under `policy_path` at the head of `branch` is in force afterwards, and policies " +
      "that are no longer there are deleted. Faults of the files are told with file, line and column, and " +
      "a test of a policy that fails refuses the whole. With `dry_run` nothing is written and the plan is " +
      "the one that an apply carries out. Agents that are concerned confirm: see their `policy_version`.",
    access: { scope: "policy:write" },
    effect: "steps",
    audit: { byRule: "policy_created, policy_updated, policy_deleted, policy_unpinned" },
    body: z.strictObject({
      repo_url: RepoUrl,
      branch: Branch,
      policy_path: PolicyPath,
      dry_run: z.boolean().default(false).meta({
        description: "Write nothing, and show the plan.",
      }),
      replay: z.int().min(1).max(REPLAY_MAX).optional()
        .describe("Judge this many of the last commands by the result, and show what changes."),
    }),
    rules: {
      "body.branch": "is a branch of the repository",
      "body.repo_url": "is an https address of a repository",
      "body.policy_path": "is a folder of the branch",
    },
    success: { status: 200, body: Applied },
    faults: ["NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
    tool: { destructive: true },
    handle: (work, { body }, { fetches, policyCache, repositoryCredentials, authenticator }) =>
      applyPolicies(work, { fetches, policyCache, repositoryCredentials, authenticator }, body),
  }),
  route({
    id: "receivers.git",
    method: "POST",
    path: "/api/v1/gitops/webhook",
    summary: "Hear of a push to a Git repository",
    description:
      "Takes `event` and `repository`, and what GitHub, GitLab and Gitea send of a push, with their " +
      "signatures. A signed one makes Relay apply what the repository says, with the right of the person " +
      "for whom it is synced; after an unsigned one Relay only shows what is pending. The answer is the " +
      "same for one that is known and one that is not. A body of more than 16 KiB must be signed.",
    access: { public: "it only makes Relay look at a repository that is registered" },
    effect: "steps",
    audit: { none: "what the look brings is told by the events of the policies" },
    ignoresUnknownQuery: true,
    body: z.looseObject({
      event: anything("`push`; what else a host tells is not obeyed."),
      repository: anything("Its address or its path, or the host's own object."),
    }),
    largerBody: {
      bytesMax: PUSH_BYTES_MAX,
      unless: "it is signed with the webhook secret of the repository that it names",
      mayCome: ({ request }) => claimsProof(request.gitHook),
      proved: ({ relay, request }, bytes) => isProvedPush(relay, request.gitHook, bytes),
    },
    success: { status: 202, body: Accepted },
    faults: [],
    handle: async (work, { body, bodyText }, { syncs, background }) =>
      await receivePush(work, { syncs, background }, body, bodyText),
  }),
];
