import type { Tenant } from "../../kv/store/collection.ts";
import {
  type PolicySetRecord,
  policyVersions,
  repositories,
  type RepositoryRecord,
} from "../../kv/records/gitops.ts";
import type { Tx } from "../../kv/store/tx.ts";
import type { RequestInfo } from "../identity/identity.ts";
import type { Context } from "../context/context.ts";
import { emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { shieldInForce } from "../agents/agents.ts";
import { versionId } from "./policy_set.ts";
import { enforce } from "./enforce.ts";
import { policyEvent } from "./policy_event.ts";
import { carryOut, isIdle, planPolicies, type PlanStep, type Wanted } from "./plan.ts";
import { mustFit } from "./set_limits.ts";
import { mustAct } from "./suspended.ts";

/** Who applies: a person, a key, or Relay itself, which has no request and acts on behalf of a person. */
export interface Applier extends Pick<Context, "store" | "ports" | "signals"> {
  readonly actor: { readonly id: string };
  readonly request?: Pick<RequestInfo, "id">;
  /** The person on whose behalf Relay itself applies. */
  readonly onBehalfOf?: string;
}

/** The result of carrying a plan out. */
interface Carried {
  readonly changed: boolean;
  readonly plan: PlanStep[];
  /** Names the set of policies in force now. */
  readonly version: string;
}

/** Raised when another commit of the repository was applied while this one was fetched. */
export class Overtaken extends Fault {
  constructor() {
    const message = "Another commit was applied during the fetch.";
    super("CONFLICT", `${message} Apply again to use the newest.`);
  }
}

/**
 * Carries a plan out in one commit: versions, the set in force, and events.
 * @throws {Fault} NOT_FOUND when the repository was removed meanwhile, VALIDATION_FAILED
 * @throws {Overtaken}
 * @throws {Suspended} when Relay itself applies and the person lost the right meanwhile
 */
export async function activate(
  applier: Applier,
  tenant: Tenant,
  /** The record as it was before the fetch. */
  repository: RepositoryRecord,
  wanted: Wanted,
  alongside: (tx: Tx) => Promise<void> = async () => {},
): Promise<Carried> {
  const { clock, entropy } = applier.ports;
  return await applier.store.transact(async (tx) => {
    const registered = await tx.get(repositories, tenant, repository.id);
    if (registered === null) {
      throw new Fault("NOT_FOUND", "The repository was removed in the meantime.");
    }
    if (applier.onBehalfOf !== undefined) await mustAct(tx, tenant, registered);
    const shield = await shieldInForce(tx, tenant);
    const before = shield.policies;
    const { branch, path, commit } = wanted;
    if (isOvertaken(repository, registered, commit)) throw new Overtaken();
    const plan = planPolicies(before, wanted);
    const nowMs = clock.now();
    const after = carryOut(before, plan, wanted, { nowMs, newId: () => entropy.id("pol") });
    mustFit(after);
    enforce(applier, tx, tenant, shield, after);
    if (!isIdle(plan)) {
      writeSteps(applier, tx, tenant, { before, after, plan, wanted, url: repository.url });
    }
    const isFollowed = branch === registered.branch && path === registered.policy_path;
    const last = { at_ms: nowMs, commit, error: null };
    tx.put(repositories, tenant, {
      ...registered,
      last_apply: { serial: (registered.last_apply?.serial ?? 0) + 1, commit },
      ...(isFollowed && { applied_commit: commit, failures: 0, last, pending: null }),
    });
    await alongside(tx);
    const carried = plan.map((step) => ({ ...step, policy_id: policyIdOf(step, wanted, after) }));
    return { changed: !isIdle(plan), plan: carried, version: after.version };
  });
}

/** The id of a step's policy; a new policy has one once the plan is carried out. */
const policyIdOf = (
  { policy_id, path }: PlanStep,
  { repositoryId }: Wanted,
  { items }: PolicySetRecord,
): string | null =>
  policy_id ??
    items.find((item) => item.repository_id === repositoryId && item.path === path)?.id ?? null;

/** True when another commit was applied since the fetch began; the fetch cannot tell which one is newer. */
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

/** Writes the version and the event of each step of a plan. */
function writeSteps(
  applier: Applier,
  tx: Tx,
  tenant: Tenant,
  { before, after, plan, wanted, url }: Change,
): void {
  const onBehalf = applier.onBehalfOf === undefined ? {} : { on_behalf_of: applier.onBehalfOf };
  const by = { user: applier.request === undefined ? null : applier.actor.id, ...onBehalf };
  const documents = new Map(wanted.candidates.map((one) => [one.path, one.document]));
  const repositoryId = wanted.repositoryId;
  const find = (set: PolicySetRecord, path: string) =>
    set.items.find((item) => item.repository_id === repositoryId && item.path === path)!;
  for (const { action, path } of plan) {
    if (action === "delete") {
      emit(applier, tx, tenant, policyEvent("policy_deleted", find(before, path), url, by));
    }
    if (action === "unpin") {
      const { id, name } = find(after, path);
      emit(applier, tx, tenant, {
        type: "policy_unpinned",
        resource: { type: "policy", id },
        details: { name, reason: "the file equals the version in force", ...onBehalf },
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
      on_behalf_of: applier.onBehalfOf ?? null,
      created_at_ms: item.updated_at_ms,
    });
    const event = action === "create"
      ? policyEvent("policy_created", item, url, by)
      : policyEvent("policy_updated", item, url, by, find(before, path).version);
    emit(applier, tx, tenant, event);
  }
}
