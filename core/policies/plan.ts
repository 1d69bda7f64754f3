import { hash } from "node:crypto";
import type { PLAN_ACTIONS, PolicyItem, PolicySetRecord } from "../../kv/records/gitops.ts";
import { canonicalJson } from "../codec/codec.ts";
import { Fault } from "../fault/fault.ts";
import { setOf } from "./policy_set.ts";
import type { NamedDocument } from "./documents/document.ts";

/** A valid policy file of the commit. */
export interface Candidate {
  /** The file in the repository. */
  readonly path: string;
  readonly document: NamedDocument;
  readonly digest: string;
  readonly bytes: number;
}

/** The policies that a part of a repository should have: exactly these files. */
export interface Wanted {
  readonly repositoryId: string;
  readonly branch: string;
  readonly commit: string;
  /** The file or folder that was read; empty for the whole repository. */
  readonly path: string;
  readonly candidates: readonly Candidate[];
  /** Paths of symbolic links and submodules, which are not followed: their contents are unknown. */
  readonly links: readonly string[];
}

/** What an apply does to one policy. */
export interface PlanStep {
  readonly action: (typeof PLAN_ACTIONS)[number];
  /** Null for a policy that does not exist yet; the answer of an apply holds its new id. */
  readonly policy_id: string | null;
  readonly name: string;
  readonly path: string;
  /** The version in force afterwards; null for a deleted policy. */
  readonly version: string | null;
  /** The version in force before; null for a new policy. */
  readonly previous_version: string | null;
  /** The digest of the document in force afterwards. */
  readonly digest: string | null;
}

/** A document with the digest and size of its canonical JSON. */
export function candidateOf(path: string, document: NamedDocument): Candidate {
  const json = canonicalJson(document);
  return {
    path,
    document,
    digest: hash("sha256", json),
    bytes: new TextEncoder().encode(json).length,
  };
}

/** True for a file within the part of the repository that was read. */
const liesIn = (path: string, scope: string) =>
  scope === "" || path === scope || path.startsWith(`${scope}/`);

/**
 * The steps of an apply, in the order of the files. A pure function: a dry run shows the steps, and the
 * apply carries out exactly those.
 * @throws {Fault} VALIDATION_FAILED when a policy would be deleted only because a link is not followed
 */
export function planPolicies({ items }: PolicySetRecord, wanted: Wanted): PlanStep[] {
  const known = new Map(
    items.filter((item) => item.repository_id === wanted.repositoryId)
      .map((item) => [item.path, item]),
  );
  const steps = wanted.candidates.map((candidate) => stepFor(known.get(candidate.path), candidate));
  const files = new Set(wanted.candidates.map(({ path }) => path));
  const gone = [...known.values()].filter(({ path }) =>
    liesIn(path, wanted.path) && !files.has(path)
  );
  for (const { name, path } of gone) mustBeGone(name, path, wanted);
  const deletions = gone.map((item): PlanStep => ({
    action: "delete",
    policy_id: item.id,
    name: item.name,
    path: item.path,
    version: null,
    previous_version: String(item.version),
    digest: null,
  }));
  return [...steps, ...deletions].sort((a, b) => a.path < b.path ? -1 : 1);
}

function mustBeGone(name: string, path: string, { links, commit }: Wanted): void {
  const link = links.find((each) => liesIn(path, each));
  if (link === undefined) return;
  const message =
    `${link} is a link or a submodule, which Relay does not follow, but the policy ${name} ` +
    "came from there. Replace it with the file, or remove it to delete the policy.";
  const issues = [{ path: "body.policy_path", message }];
  throw new Fault("VALIDATION_FAILED", message, { issues, commit });
}

function stepFor(item: PolicyItem | undefined, { path, document, digest }: Candidate): PlanStep {
  const { name } = document;
  if (item === undefined) {
    const fresh = { policy_id: null, previous_version: null, version: "1" };
    return { action: "create", name, path, digest, ...fresh };
  }
  const same = { policy_id: item.id, path, previous_version: String(item.version) };
  if (item.pin?.digest === digest) {
    const kept = { name: item.name, version: String(item.version), digest: item.digest };
    return { action: "pinned", ...same, ...kept };
  }
  if (item.digest === digest) {
    const action = item.pin === null ? "unchanged" : "unpin";
    return { action, ...same, name, version: String(item.version), digest };
  }
  return { action: "update", ...same, name, version: String(item.latest + 1), digest };
}

/** True for a plan that leaves everything as it is. */
export const isIdle = (plan: readonly PlanStep[]): boolean =>
  plan.every(({ action }) => action === "unchanged" || action === "pinned");

/** The policies in force after a plan. */
export function carryOut(
  { items }: PolicySetRecord,
  plan: readonly PlanStep[],
  { repositoryId, branch, commit, candidates }: Wanted,
  { nowMs, newId }: { readonly nowMs: number; readonly newId: () => string },
): PolicySetRecord {
  const byPath = new Map(candidates.map((candidate) => [candidate.path, candidate]));
  const steps = new Map(plan.map((step) => [step.policy_id ?? step.path, step]));
  const kept = items.flatMap((item): PolicyItem[] => {
    const step = steps.get(item.id);
    if (step === undefined) return [item];
    if (step.action === "delete") return [];
    const file = byPath.get(item.path)!;
    const said = { ...item, file_digest: file.digest };
    if (step.action === "unpin") return [{ ...said, pin: null, updated_at_ms: nowMs }];
    if (step.action !== "update") return [said];
    const version = item.latest + 1;
    const changed = contentOf(file);
    const now = { version, latest: version, branch, commit, pin: null, updated_at_ms: nowMs };
    return [{ ...item, ...changed, ...now }];
  });
  const created = plan.filter(({ action }) => action === "create").map(({ path }): PolicyItem => ({
    id: newId(),
    repository_id: repositoryId,
    path,
    branch,
    version: 1,
    latest: 1,
    commit,
    pin: null,
    created_at_ms: nowMs,
    updated_at_ms: nowMs,
    ...contentOf(byPath.get(path)!),
  }));
  return setOf([...kept, ...created]);
}

const contentOf = ({ document, digest, bytes }: Candidate) => ({
  name: document.name,
  digest,
  file_digest: digest,
  bytes,
  labels: document.agents?.labels ?? {},
});
