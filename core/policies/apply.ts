import { type Authenticator, notifyOfOldValue } from "../access/access.ts";
import type { Tenant } from "../../kv/store/collection.ts";
import {
  policySetOf,
  type PolicySetRecord,
  type RepositoryRecord,
} from "../../kv/records/gitops.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { Stepping } from "../work/work.ts";
import { Fault } from "../fault/fault.ts";
import {
  policyAndPatterns,
  type PolicyFor,
  replayCommands,
  shieldInForce,
} from "../agents/agents.ts";
import type { Policy } from "../shield/shield.ts";
import { nextTurn } from "../ports/ports.ts";
import { activate } from "./activate.ts";
import type { AwaitedFetches } from "./awaited_fetches.ts";
import { GitFailure } from "./git/git_failure.ts";
import { normalPath } from "./git/path.ts";
import { concerns, mergePolicies } from "./documents/merge.ts";
import { candidateOf, carryOut, isIdle, planPolicies, type PlanStep, type Wanted } from "./plan.ts";
import type { PolicyCache } from "./policy_cache.ts";
import { repositoryAt } from "./repositories.ts";
import { mustFit } from "./set_limits.ts";
import { type FetchOptions, type FetchParts, sourceOf } from "./source.ts";

export interface ApplyInput {
  readonly repo_url: string;
  readonly branch: string;
  readonly policy_path: string;
  readonly dry_run: boolean;
  /** The only head of the branch that may be applied: that of a plan that people agreed to. */
  readonly commit?: string | undefined;
  /** How many of the last audited commands to judge by the resulting policies. */
  readonly replay?: number | undefined;
}

/** The parts of the relay that an apply uses besides its work. */
export interface ApplyParts extends Pick<FetchParts, "repositoryCredentials"> {
  readonly policyCache: PolicyCache;
  readonly authenticator: Pick<Authenticator, "mustStillHave">;
  readonly fetches: AwaitedFetches;
}

/**
 * Puts the policies under a path of a branch in force, or shows what that would change.
 * @throws {Fault} NOT_FOUND, VALIDATION_FAILED, CONFLICT, UNAVAILABLE, INSUFFICIENT_SCOPES; then nothing has changed
 */
export async function applyPolicies(work: Stepping, parts: ApplyParts, input: ApplyInput) {
  const { actor, db } = work;
  const { repositoryCredentials } = parts;
  const { tenant } = actor;
  const repository = await repositoryAt(work, input.repo_url);
  const { branch, policy_path: path, dry_run: quiet } = input;
  const span = work.request.trace?.child("git sync", { "relay.repository_id": repository.id });
  const reading = parts.fetches.run(
    tenant,
    () =>
      readWanted({ ...work, repositoryCredentials }, tenant, repository, { branch, path, quiet }),
  );
  span?.endWith(reading);
  const wanted = await reading;
  if (input.commit !== undefined && input.commit !== wanted.commit) throw moved(wanted.commit);
  await parts.authenticator.mustStillHave(actor, ["policy:write"]);
  const before = await policySetOf(db, tenant);
  const plan = planPolicies(before, wanted);
  const after = carryOut(before, plan, wanted, { nowMs: 0, newId: () => "new" });
  mustFit(after);
  const candidate = policyAfter(work, parts.policyCache, after, wanted);
  const replay = input.replay === undefined
    ? null
    : await replayCommands(work, parts.policyCache, { replay: input.replay, candidate });
  const about = { dry_run: input.dry_run, commit: wanted.commit, replay };
  if (input.dry_run) {
    const planned = { changed: !isIdle(plan), plan, version: after.version };
    return { ...about, ...planned, policy_id: onlyPolicy(plan) };
  }
  const alongside = async (tx: Tx) => {
    work.recordUse(tx, 200);
    await notifyOfOldValue(work, tx);
  };
  const carried = await activate(work, tenant, repository, wanted, alongside);
  return { ...about, ...carried, policy_id: onlyPolicy(carried.plan) };
}

const moved = (commit: string): Fault =>
  new Fault(
    "CONFLICT",
    `The head of the branch is now ${commit}. Look at its plan, and apply that.`,
    { commit },
  );

/** The one policy that the plan leaves in force; null for several, and for one not created yet. */
function onlyPolicy(plan: readonly PlanStep[]): string | null {
  const [only, another] = plan.filter(({ action }) => action !== "delete");
  return another === undefined ? only?.policy_id ?? null : null;
}

/** Fetches and reads the policies under a path of a branch. @throws {Fault} VALIDATION_FAILED, UNAVAILABLE */
export async function readWanted(
  parts: FetchParts,
  tenant: Tenant,
  repository: RepositoryRecord,
  options: FetchOptions,
): Promise<Wanted> {
  const { branch } = options;
  const path = normalPath(options.path);
  const source = await sourceOf(parts, tenant, repository, { ...options, path });
  // The libraries for Git and YAML are loaded with the first repository.
  const { fetchPolicyFiles } = await import("./git/fetch.ts");
  const { readPolicyFile } = await import("./documents/read_document.ts");
  const { commit, files, links } = await fetchPolicyFiles(parts.ports, source).catch((error) => {
    throw error instanceof GitFailure ? faultOfGit(error) : error;
  });
  const read = [];
  for (const file of files) {
    read.push({ path: file.path, ...await readPolicyFile(file) });
    await nextTurn();
  }
  const issues = read.flatMap((file) => file.issues);
  const first = issues[0];
  if (first !== undefined) {
    const { file, line, column, message } = first;
    throw new Fault("VALIDATION_FAILED", `${file}:${line}:${column}: ${message}`, {
      issues,
      commit,
    });
  }
  const candidates = read.flatMap((file) =>
    file.document === null ? [] : [candidateOf(file.path, file.document)]
  );
  return { repositoryId: repository.id, branch, commit, path, candidates, links };
}

const FIELD_OF: Readonly<Record<string, string>> = {
  missing_branch: "body.branch",
  missing_path: "body.policy_path",
};

function faultOfGit({ kind, message, cause }: GitFailure): Fault {
  const details = { git: kind };
  if (kind === "timeout" || kind === "host") {
    return new Fault("UNAVAILABLE", message, details, { cause });
  }
  const issues = [{ path: FIELD_OF[kind] ?? "body.repo_url", message }];
  return new Fault("VALIDATION_FAILED", message, { ...details, issues }, { cause });
}

/** The policy that the shield would use after a plan, for each agent's labels. */
function policyAfter(
  { actor: { tenant }, db }: Stepping,
  policyCache: PolicyCache,
  after: PolicySetRecord,
  { candidates }: Wanted,
): PolicyFor {
  const fetched = new Map(candidates.map((one) => [one.digest, one.document]));
  const shield = shieldInForce(db, tenant);
  const known = new Map<string, Policy | null>();
  return async (labels) => {
    const items = after.items.filter((item) => concerns({ agents: item }, labels));
    const key = items.map(({ name }) => name).join(" ");
    if (known.has(key)) return known.get(key)!;
    const documents = [];
    for (const item of items) {
      const [stored] = fetched.has(item.digest)
        ? []
        : await policyCache.documentsOf(tenant, [item]);
      documents.push(stored ?? fetched.get(item.digest)!);
    }
    const { policy } = mergePolicies(documents, policyAndPatterns((await shield).own));
    known.set(key, policy);
    return policy;
  };
}
