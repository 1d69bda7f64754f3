import {
  type PolicyItem,
  policySetOf,
  policySets,
  type PolicyVersionRecord,
  policyVersions,
  repositories,
} from "../../kv/records/gitops.ts";
import type { Work, Writing } from "../work/work.ts";
import { emit } from "../events/events.ts";
import { Fault } from "../fault/fault.ts";
import { listPage, type Paging } from "../../kv/store/paging.ts";
import { iso } from "../codec/codec.ts";
import { shieldInForce } from "../agents/agents.ts";
import { setOf, versionId } from "./policy_set.ts";
import { diffDocuments } from "./documents/diff.ts";
import { type NamedDocument, PolicyDocument } from "./documents/document.ts";
import { enforce } from "./enforce.ts";
import { policyEvent } from "./policy_event.ts";
import { ownedPolicy, showPolicy } from "./in_force.ts";
import { mustFit } from "./set_limits.ts";
import type { SyncQueue } from "./sync_schedule.ts";

/** The versions of one policy, or of all policies, newest first. @throws {Fault} POLICY_NOT_FOUND */
export async function listVersions(
  { db, actor }: Work,
  { policy_id, ...paging }: Paging & { readonly policy_id?: string | undefined },
) {
  const { tenant } = actor;
  const by = policy_id === undefined ? { index: "age" } : { index: "policy", prefix: [policy_id] };
  const options = { ...paging, ...by, reverse: true };
  const { items, pagination } = await listPage(db, policyVersions, tenant, options);
  if (policy_id !== undefined && pagination.total === 0) throw new Fault("POLICY_NOT_FOUND");
  const { items: inForce } = await policySetOf(db, tenant);
  return { versions: items.map((record) => showVersion(record, inForce)), pagination };
}

/** One version with its document. @throws {Fault} POLICY_NOT_FOUND, NOT_FOUND */
export async function getVersion(work: Work, policyId: string, version: string) {
  const record = await versionOf(work, policyId, version);
  const { items } = await policySetOf(work.db, work.actor.tenant);
  return { ...showVersion(record, items), document: record.document as Record<string, unknown> };
}

/** The differences between two versions. @throws {Fault} POLICY_NOT_FOUND, NOT_FOUND */
export async function diffVersions(
  work: Work,
  policyId: string,
  { from, to }: { readonly from: string; readonly to: string },
) {
  const [before, after] = [
    await versionOf(work, policyId, from),
    await versionOf(work, policyId, to),
  ];
  return { policy_id: policyId, from, to, changes: diffDocuments(before.document, after.document) };
}

const VERSION = /^[1-9][0-9]{0,5}$/;

async function versionOf({ db, actor }: Work, policyId: string, version: string) {
  const number = VERSION.test(version) ? Number(version) : 0;
  const record = await db.get(
    policyVersions,
    actor.tenant,
    versionId({ id: policyId, version: number }),
  );
  if (record !== null) return record;
  if (await db.countBy(policyVersions, actor.tenant, "policy", [policyId]) === 0) {
    throw new Fault("POLICY_NOT_FOUND");
  }
  throw new Fault("NOT_FOUND", `The policy has no version ${version}.`);
}

/**
 * Puts an earlier version back in force and pins it, so that a sync does not undo the rollback.
 * @throws {Fault} POLICY_NOT_FOUND, NOT_FOUND, VALIDATION_FAILED
 */
export async function rollBack(
  work: Writing,
  { policy_id, version }: { readonly policy_id: string; readonly version: string },
) {
  const { actor, ports, tx } = work;
  const { tenant } = actor;
  const shield = await shieldInForce(tx, tenant);
  const { items } = shield.policies;
  const item = ownedPolicy(items, policy_id);
  const record = await versionOf(work, policy_id, version);
  const document = readable(record);
  const pinned: PolicyItem = {
    ...item,
    name: record.name,
    version: record.version,
    digest: record.digest,
    commit: record.commit,
    labels: document.agents?.labels ?? {},
    bytes: new TextEncoder().encode(JSON.stringify(document)).length,
    pin: {
      digest: item.file_digest ?? item.pin?.digest ?? item.digest,
      by: actor.id,
      at_ms: ports.clock.now(),
    },
    updated_at_ms: ports.clock.now(),
  };
  const after = setOf(items.map((one) => one.id === item.id ? pinned : one));
  mustFit(after);
  enforce(work, tx, tenant, shield, after);
  if (pinned.version !== item.version) {
    emit(
      work,
      tx,
      tenant,
      policyEvent("policy_updated", pinned, record.repository, { user: actor.id }, item.version),
    );
  }
  return showPolicy(pinned);
}

/** The document of a version; one that an earlier release wrote may hold fields that this one does not know. */
function readable({ document, version }: PolicyVersionRecord): NamedDocument {
  const read = PolicyDocument.safeParse(document);
  if (read.success) return document as NamedDocument;
  const issues = read.error.issues.map(({ path, message }) => ({ path: path.join("."), message }));
  throw new Fault("VALIDATION_FAILED", `This release of Relay cannot read version ${version}.`, {
    issues,
  });
}

/** Lets a policy follow its repository again. @throws {Fault} POLICY_NOT_FOUND, CONFLICT */
export async function unpin(work: Writing, syncs: SyncQueue, policyId: string) {
  const { actor, ports, tx } = work;
  const { tenant } = actor;
  const before = await policySetOf(tx, tenant);
  const item = ownedPolicy(before.items, policyId);
  if (item.pin === null) throw new Fault("CONFLICT", "The policy is not pinned.");
  const now = ports.clock.now();
  const followed = { ...item, pin: null, updated_at_ms: now };
  tx.put(policySets, tenant, setOf(before.items.map((one) => one.id === item.id ? followed : one)));
  const repository = await tx.get(repositories, tenant, item.repository_id);
  if (repository !== null) {
    const due_at_ms = repository.sync_seconds === null ? repository.due_at_ms : now;
    tx.put(repositories, tenant, { ...repository, applied_commit: null, due_at_ms });
    tx.afterCommit(() => syncs.wake());
  }
  return showPolicy(followed);
}

function showVersion(record: PolicyVersionRecord, items: readonly PolicyItem[]) {
  const item = items.find(({ id }) => id === record.policy_id);
  return {
    policy_id: record.policy_id,
    name: record.name,
    version: String(record.version),
    digest: record.digest,
    repository: record.repository,
    path: record.path,
    branch: record.branch,
    commit: record.commit,
    in_force: item?.version === record.version,
    created_by: record.created_by,
    on_behalf_of: record.on_behalf_of,
    created_at: iso(record.created_at_ms),
  };
}
