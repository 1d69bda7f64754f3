import type { Tenant } from "../../kv/collection.ts";
import {
  type PolicySetRecord,
  policyVersions,
  repositories,
  type RepositoryRecord,
} from "../../kv/records/gitops.ts";
import type { Tx } from "../../kv/tx.ts";
import type { App, RequestInfo, Stepping } from "../app.ts";
import { mustStillHave } from "../authenticate.ts";
import { emit } from "../events.ts";
import { Fault } from "../fault.ts";
import { type PolicyFor, replayCommands } from "../shield/evaluate.ts";
import type { Policy } from "../shield/policy.ts";
import { policyAndPatterns, shieldInForce } from "../shield/settings.ts";
import { nextTurn } from "../turn.ts";
import { policySetOf, versionId } from "./book.ts";
import { enforce } from "./enforce.ts";
import { policyEvent } from "./events.ts";
import { fetchPolicyFiles, normalPath } from "./fetch.ts";
import { GitFailure } from "./git_failure.ts";
import { concerns, mergePolicies } from "./merge.ts";
import { candidateOf, carryOut, isIdle, planPolicies, type PlanStep, type Wanted } from "./plan.ts";
import { pruneVersions } from "./prune.ts";
import { readPolicyFile } from "./read_document.ts";
import { type Reading, repositoryAt, sourceOf } from "./repositories.ts";
import { mustFit } from "./set_bounds.ts";

export interface ApplyInput {
  readonly repo_url: string;
  readonly branch: string;
  readonly policy_path: string;
  readonly dry_run: boolean;
  /** How many of the last audited commands to judge by the result. */
  readonly replay?: number | undefined;
}

/**
 * Brings what a branch says under a path into force, or shows what that would do.
 * @throws {Fault} NOT_FOUND, VALIDATION_FAILED, CONFLICT, UNAVAILABLE, INSUFFICIENT_SCOPES; then nothing has changed
 */
export async function applyPolicies(work: Stepping, input: ApplyInput) {
  const { app, actor, db } = work;
  const { tenant } = actor;
  const repository = await repositoryAt(work, input.repo_url);
  const { branch, policy_path: path, dry_run: quiet } = input;
  const reading = { branch, path, quiet };
  const wanted = await app.syncs.awaited(
    tenant,
    () => readWanted(app, tenant, repository, reading),
  );
  await mustStillHave(work, ["policy:write"]);
  const before = await policySetOf(db, tenant);
  const plan = planPolicies(before, wanted);
  const after = carryOut(before, plan, wanted, { nowMs: 0, newId: () => "new" });
  mustFit(after);
  const candidate = policyAfter(work, after, wanted);
  const replay = input.replay === undefined
    ? null
    : await replayCommands(work, { replay: input.replay, candidate });
  const about = { dry_run: input.dry_run, commit: wanted.commit, replay };
  if (input.dry_run) return { ...about, changed: !isIdle(plan), plan, version: after.version };
  const applier = { app, actor, request: work.request };
  const done = await activate(
    applier,
    tenant,
    repository,
    wanted,
    (tx) => work.recordUse(tx, 200),
  );
  return { ...about, ...done };
}

/** Fetches and reads what a branch says under a path. @throws {Fault} VALIDATION_FAILED, UNAVAILABLE */
export async function readWanted(
  app: App,
  tenant: Tenant,
  repository: RepositoryRecord,
  reading: Reading,
): Promise<Wanted> {
  const { branch } = reading;
  const path = normalPath(reading.path);
  const source = await sourceOf(app, tenant, repository, { ...reading, path });
  const { commit, files, links } = await fetchPolicyFiles(app.ports, source).catch((error) => {
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

/** Who applies: a person, a key, or Relay itself, which has no request. */
export interface Applier {
  readonly app: App;
  readonly actor: { readonly id: string };
  readonly request?: Pick<RequestInfo, "id">;
}

/** What was carried out. */
interface Carried {
  readonly changed: boolean;
  readonly plan: PlanStep[];
  /** The name of all policies in force now. */
  readonly version: string;
}

/** Another commit of the repository was applied while this one was fetched. */
export class Overtaken extends Fault {
  constructor() {
    const message = "Another commit was applied while this one was fetched.";
    super("CONFLICT", `${message} Apply again for the newest.`);
  }
}

/**
 * Carries a plan out in one commit: versions, what is in force, events. Agents are told afterwards.
 * @throws {Fault} NOT_FOUND when the repository was removed meanwhile, VALIDATION_FAILED
 * @throws {Overtaken}
 */
export async function activate(
  applier: Applier,
  tenant: Tenant,
  /** As it was before the fetch. */
  repository: RepositoryRecord,
  wanted: Wanted,
  alongside: (tx: Tx) => void = () => {},
): Promise<Carried> {
  const { app } = applier;
  const { clock, entropy } = app.ports;
  return await app.store.transact(async (tx) => {
    const registered = await tx.get(repositories, tenant, repository.id);
    if (registered === null) throw new Fault("NOT_FOUND", "The repository was removed meanwhile.");
    const shield = await shieldInForce(tx, tenant);
    const before = shield.policies;
    const { branch, path, commit } = wanted;
    if (isOvertaken(repository, registered, commit)) throw new Overtaken();
    const plan = planPolicies(before, wanted);
    const nowMs = clock.now();
    const after = carryOut(before, plan, wanted, { nowMs, newId: () => entropy.id("pol") });
    mustFit(after);
    enforce(app, tx, tenant, shield, after);
    if (!isIdle(plan)) {
      writeSteps(applier, tx, tenant, { before, after, plan, wanted, url: repository.url });
      tx.afterCommit(() => pruneVersions(app, tenant));
    }
    const isFollowed = branch === registered.branch && path === registered.policy_path;
    const last = { at_ms: nowMs, commit, error: null };
    tx.put(repositories, tenant, {
      ...registered,
      last_apply: { serial: (registered.last_apply?.serial ?? 0) + 1, commit },
      ...(isFollowed && { applied_commit: commit, failures: 0, last }),
    });
    alongside(tx);
    return { changed: !isIdle(plan), plan, version: after.version };
  });
}

/** True when another commit was applied since a fetch began: which is newer, the fetch cannot tell. */
const isOvertaken = (
  { last_apply: before }: RepositoryRecord,
  { last_apply: now }: RepositoryRecord,
  commit: string,
): boolean => now?.serial !== before?.serial && now?.commit !== commit;

interface Change {
  readonly before: PolicySetRecord;
  readonly after: PolicySetRecord;
  readonly plan: readonly PlanStep[];
  readonly wanted: Wanted;
  readonly url: string;
}

/** Puts on record what each step of a plan has changed. */
function writeSteps(
  applier: Applier,
  tx: Tx,
  tenant: Tenant,
  { before, after, plan, wanted, url }: Change,
): void {
  const user = applier.request === undefined ? null : applier.actor.id;
  const documents = new Map(wanted.candidates.map((one) => [one.path, one.document]));
  const repositoryId = wanted.repositoryId;
  const find = (set: PolicySetRecord, path: string) =>
    set.items.find((item) => item.repository_id === repositoryId && item.path === path)!;
  for (const { action, path } of plan) {
    if (action === "delete") {
      emit(applier, tx, tenant, policyEvent("policy_deleted", find(before, path), url, user));
    }
    if (action === "unpin") {
      const { id, name } = find(after, path);
      emit(applier, tx, tenant, {
        type: "policy_unpinned",
        resource: { type: "policy", id },
        details: { name, reason: "the file says the same as the version in force" },
      });
    }
    if (action !== "create" && action !== "update") continue;
    const item = find(after, path);
    tx.insert(policyVersions, tenant, {
      id: versionId(item),
      policy_id: item.id,
      name: item.name,
      version: item.version,
      digest: item.digest,
      repository: url,
      path,
      branch: wanted.branch,
      commit: wanted.commit,
      document: documents.get(path),
      created_by: applier.actor.id,
      created_at_ms: item.updated_at_ms,
    });
    const event = action === "create"
      ? policyEvent("policy_created", item, url, user)
      : policyEvent("policy_updated", item, url, user, find(before, path).version);
    emit(applier, tx, tenant, event);
  }
}

/** What the shield would judge by after a plan, for each agent's labels. */
function policyAfter(
  { app, actor: { tenant }, db }: Stepping,
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
        : await app.policyBook.documentsOf(tenant, [item]);
      documents.push(stored ?? fetched.get(item.digest)!);
    }
    const { policy } = mergePolicies(documents, policyAndPatterns((await shield).own));
    known.set(key, policy);
    return policy;
  };
}
