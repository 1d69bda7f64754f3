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
    description: "The HTTPS clone address.",
    examples: ["https://git.example.com/policies.git"],
  });
/** The rules of `git check-ref-format` that matter here. */
const Branch = z.string().min(1).max(200).regex(
  /^(?![-/.])(?!.*(\.\.|\/\/|\/\.|@\{))[^\p{Cc} ~^:?*[\\]+(?<![/.])$/u,
  "is not a valid branch name",
).meta({ description: "The branch with the policies.", examples: ["main"] });
const PolicyPath = z.string().max(PATH_CHARS_MAX)
  .regex(/^[^\p{Cc}\\]*$/u, "must not hold control characters or backslashes")
  .refine((path) => !path.split("/").includes(".."), "leads out of the repository")
  .meta({
    description: "A file or a folder of policy files; empty for the whole repository.",
    examples: ["policies"],
  });
const Secret = z.string().min(1).max(SECRET_CHARS_MAX).regex(
  /^[^\p{Cc}]*$/u,
  "must not hold control characters",
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
  sync_seconds: z.int().nullable().describe(
    "The sync interval, in seconds; null for no scheduled sync.",
  ),
  last_sync: z.object({
    at: Timestamp,
    commit: z.string().nullable(),
    error: z.string().nullable().describe("Why the last sync failed."),
  }).nullable(),
  applied_commit: z.string().nullable().describe("The commit in force."),
  pending: z.object({
    commit: z.string(),
    seen_at: Timestamp,
    changes: z.array(
      z.object({ action: PlanAction, name: z.string(), path: z.string() }),
    ).describe("The first 20 changes; a dry run of the apply shows all."),
    changes_total: z.int(),
  }).nullable().describe("A new head announced by an unsigned push, not yet in force."),
  ...standing,
  created_by: z.string(),
  created_with: CreatedWith,
  created_at: Timestamp,
}).meta({ id: "Repository" });

const PlanStep = z.object({
  action: PlanAction.describe(
    "`pinned`: a rollback holds the policy although its file differs. `unpin`: the file " +
      "equals the version in force, so the pin is removed.",
  ),
  policy_id: z.string().nullable().describe("Null where a dry run would create the policy."),
  name: z.string(),
  path: z.string(),
  version: z.string().nullable().describe(
    "The version in force afterwards; null when the policy is deleted.",
  ),
  previous_version: z.string().nullable(),
  digest: z.string().nullable().describe("The SHA-256 of the document in force afterwards."),
}).meta({ id: "PlanStep" });

const Applied = z.object({
  dry_run: z.boolean(),
  commit: z.string().describe("The head of the branch."),
  policy_id: z.string().nullable().describe(
    "The policy at the path, if there is exactly one; `plan` lists all.",
  ),
  changed: z.boolean().describe("False when the plan changes nothing."),
  plan: z.array(PlanStep).describe("Every policy concerned, deletions included."),
  version: z.string().describe(
    "The version of the whole set of policies afterwards; empty for none.",
  ),
  replay: Replay.nullable(),
}).meta({ id: "PolicyApply" });

const RepositoryBody = z.strictObject({
  name: Name.meta({ examples: ["policies"] }),
  provider: GitProvider,
  url: RepoUrl,
  branch: Branch.default("main"),
  policy_path: PolicyPath.default(""),
  token: Secret.optional().describe("An access token of the Git host."),
  username: Secret.optional().describe("The user name, with `password`, instead of a token."),
  password: Secret.optional(),
  webhook_secret: Secret.min(8).optional().describe(
    "The secret that the Git host signs its pushes with, or sends with them. With one, " +
      "unsigned pushes are ignored; without one, a push only sets `pending`.",
  ),
  sync_seconds: z.int().min(SYNC_SECONDS_MIN).max(SYNC_SECONDS_MAX).nullable().default(null)
    .describe(
      "How often to fetch and apply new commits, in seconds; null applies only after a signed " +
        "push.",
    ),
}).superRefine(({ token, username, password }, context) => {
  const complain = (path: string, message: string) =>
    context.addIssue({ code: "custom", path: [path], message });
  if (token !== undefined && username !== undefined) {
    complain("token", "cannot be combined with `username`: give one of them");
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
    summary: "List Git repositories",
    access: { scope: "policy:read" },
    effect: "read",
    query: PageQuery,
    success: { status: 200, body: listOf("repositories", Repository) },
    faults: [],
    tool: { name: "list_repositories", destructive: false },
    handle: (work, { query }) => listRepositories(work, query),
  }),
  route({
    id: "gitops.create_repository",
    method: "POST",
    path: "/api/v1/gitops/repos",
    summary: "Register a Git repository",
    description:
      "Credentials are stored encrypted and never shown. Nothing is fetched before the first " +
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
      "body.policy_path": "must stay within the repository",
      "body.url": "must be the https address of a repository",
      "body.username": "must not hold a colon",
    },
    success: { status: 201, body: Repository },
    faults: ["FORBIDDEN", "CONFLICT"],
    handle: (work, { body }, { syncs }) => createRepository(work, syncs, body),
  }),
  route({
    id: "gitops.get_repository",
    method: "GET",
    path: "/api/v1/gitops/repos/{id}",
    summary: "Get a Git repository",
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
    summary: "Adopt a suspended Git repository",
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
    summary: "Remove a Git repository",
    description:
      "A repository whose policies are in force is not removed, unless `policies=delete` ends " +
      "them too.",
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
        description: "`delete` also ends the policies from this repository.",
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
    summary: "Apply the policies of a branch",
    description:
      "The policies under `policy_path` at the head of `branch` take effect, and policies no " +
      "longer there are deleted. Faults in files are reported with file, line and column; a " +
      "failing policy test refuses the whole apply. `dry_run` writes nothing and returns the " +
      "plan that an apply would carry out. The agents concerned confirm their policies: see " +
      "their `policy_version`.",
    access: { scope: "policy:write" },
    effect: "steps",
    audit: { byRule: "policy_created, policy_updated, policy_deleted, policy_unpinned" },
    body: z.strictObject({
      repo_url: RepoUrl,
      branch: Branch,
      policy_path: PolicyPath,
      dry_run: z.boolean().default(false).meta({
        description: "Return the plan and write nothing.",
      }),
      commit: z.string().regex(/^[0-9a-f]{40}$/, "must be the 40 hex digits of a commit").optional()
        .describe(
          "The head that the branch must have, such as the `commit` of a plan. With another head " +
            "the answer is 409.",
        ),
      replay: z.int().min(1).max(REPLAY_MAX).optional()
        .describe(
          "Also judge this many of the last commands by the resulting policies, and show what " +
            "changes.",
        ),
    }),
    rules: {
      "body.branch": "must be a branch of the repository",
      "body.repo_url": "must be the https address of a repository",
      "body.policy_path": "must be a folder of the branch",
    },
    success: { status: 200, body: Applied },
    faults: ["NOT_FOUND", "CONFLICT", "UNAVAILABLE"],
    tool: { name: "apply_policies", destructive: true },
    handle: (work, { body }, { fetches, policyCache, repositoryCredentials, authenticator }) =>
      applyPolicies(work, { fetches, policyCache, repositoryCredentials, authenticator }, body),
  }),
  route({
    id: "receivers.git",
    method: "POST",
    path: "/api/v1/gitops/webhook",
    summary: "Receive a push from a Git host",
    description:
      "Takes `event` and `repository`, or a push from GitHub, GitLab or Gitea with its " +
      "signature. After a signed push, Relay applies the repository with the rights of the " +
      "user it is synced for. After an unsigned push, Relay only shows what is pending. The " +
      "response is the same for known and unknown repositories. A body over 16 KiB must be " +
      "signed.",
    access: { public: "it only makes Relay fetch a registered repository" },
    effect: "steps",
    audit: { none: "the events of the policies record the outcome" },
    ignoresUnknownQuery: true,
    body: z.looseObject({
      event: anything("`push`; other events are ignored."),
      repository: anything("The address or the path, or the Git host's own object."),
    }),
    largerBody: {
      bytesMax: PUSH_BYTES_MAX,
      unless: "it is signed with the webhook secret of its repository",
      maySend: ({ request }) => claimsProof(request.gitHook),
      proved: ({ relay, request }, bytes) => isProvedPush(relay, request.gitHook, bytes),
    },
    success: { status: 202, body: Accepted },
    faults: [],
    handle: async (work, { body, bodyText }, { syncs, background }) =>
      await receivePush(work, { syncs, background }, body, bodyText),
  }),
];
