import { SYSTEM, type Tenant } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import { organizations } from "../../kv/records/organization.ts";
import type { Context } from "../context/context.ts";
import { JobRunner } from "../ports/ports.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { Fault, FAULTS } from "../fault/fault.ts";
import { activate, Overtaken } from "./activate.ts";
import { readWanted } from "./apply.ts";
import { GitFailure } from "./git/git_failure.ts";
import { clearPending, recordPending } from "./pending_commit.ts";
import { type FetchParts, sourceOf } from "./source.ts";
import { mustAct, Suspended } from "./suspended.ts";
import {
  type DueField,
  hasCome,
  hasImplausible,
  isDue,
  nextLookMs,
  nextLookWhileInactiveMs,
} from "./sync_schedule.ts";

/** Longer than a fetch and an apply take: no other instance starts the same sync, and a crash only delays it. */
const LEASE_MS = 60_000;
/** Concurrent syncs, over all organizations and of one: a host may be slow. */
const SLOTS = { all: 4, ofOne: 2 };
/** Due repositories read at once. */
const PAGE = 16;

/** The parts of the relay that a sync uses. */
export interface SyncParts extends FetchParts, Pick<Context, "store" | "signals"> {
  /** Records that a repository is suspended or works again. */
  noteStanding(tenant: Tenant, repository: RepositoryRecord): Promise<void>;
  readonly metrics: { gitSync(result: "succeeded" | "failed" | "suspended"): void };
}

/** Syncs repositories when they are due: fetches the head of the branch and applies what has changed. */
export const syncRunner = (parts: SyncParts): JobRunner =>
  new JobRunner({
    ports: parts.ports,
    failure: "a sync failed",
    slots: SLOTS,
    search: (runner) => startDue(parts, runner),
  });

/** Starts due syncs, as many as may run at once; each sync that ends starts the next. */
async function startDue(parts: SyncParts, runner: JobRunner): Promise<number> {
  const { store, ports } = parts;
  const now = ports.clock.now(), before = [now + 1];
  const start = (tenant: Tenant, id: string) =>
    runner.start(id, tenant, () => syncRepository(parts, tenant, id));
  for await (const due of everyQueued(store, repositories, "due", { limit: PAGE, before })) {
    if (runner.isFull) break;
    start(due.tenant, due.record.id);
  }
  const last = await store.queued(repositories, "due", { limit: PAGE, reverse: true });
  for (const { tenant, record } of last.items) {
    if (hasImplausible(record, now)) start(tenant, record.id);
  }
  return Infinity;
}

async function syncRepository(parts: SyncParts, tenant: Tenant, id: string): Promise<void> {
  const { store, ports } = parts;
  const now = ports.clock.now();
  const leaseMs = now + LEASE_MS;
  // A scheduled sync and a signed push apply what they find; an unsigned push only records it as pending.
  let field: DueField = "due_at_ms";
  const repository = await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, id);
    if (found === null || !isDue(found, now)) return null;
    field = hasCome(found.due_at_ms, now) ? "due_at_ms" : "look_at_ms";
    if (!(await tx.get(organizations, SYSTEM, tenant.org))?.active) {
      const atMs = nextLookWhileInactiveMs(found, now, ports.entropy.unit());
      tx.put(repositories, tenant, { ...found, [field]: atMs });
      return null;
    }
    return tx.put(repositories, tenant, { ...found, [field]: leaseMs });
  });
  if (repository === null) return;
  const span = ports.tracing?.start("git sync", { "relay.repository_id": id });
  const following = follow(parts, tenant, repository, field);
  span?.endWith(following);
  const error = await following.then(() => null, (error) => error);
  if (error instanceof Overtaken) return await syncAgain(parts, tenant, id, field);
  if (error instanceof Suspended) await parts.noteStanding(tenant, repository);
  await finish(parts, tenant, id, { field, leaseMs, error });
}

/** Brings what is in force, or only what is pending, up to the head of the branch. */
async function follow(
  parts: SyncParts,
  tenant: Tenant,
  repository: RepositoryRecord,
  field: DueField,
): Promise<void> {
  const { person } = await mustAct(parts.store, tenant, repository);
  const { branch, policy_path: path } = repository;
  const source = await sourceOf(parts, tenant, repository, { branch, path });
  const { fetchHead } = await import("./git/fetch.ts"); // loads the library for Git
  const head = await fetchHead(parts.ports, source);
  if (head === repository.applied_commit) {
    if (repository.pending !== null) await clearPending(parts, tenant, repository);
    return;
  }
  if (field === "look_at_ms") {
    if (head !== repository.pending?.commit) await recordPending(parts, tenant, repository);
    return;
  }
  const wanted = await readWanted(parts, tenant, repository, { branch, path });
  const relay = { ...parts, actor: RELAY_ACTOR, onBehalfOf: person };
  await activate(relay, tenant, repository, wanted);
}

/** Makes the repository due at once: the commit applied meanwhile may be older than the one fetched here. */
async function syncAgain(
  { store, ports }: SyncParts,
  tenant: Tenant,
  id: string,
  field: DueField,
): Promise<void> {
  const nowMs = ports.clock.now();
  await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, id);
    if (found !== null) tx.put(repositories, tenant, { ...found, [field]: nowMs });
  });
}

/** Why a sync failed, for readers of the repository. */
function reasonOf({ ports }: Pick<SyncParts, "ports">, error: unknown): string {
  if (error instanceof Fault || error instanceof GitFailure) return error.message;
  ports.log.error("a sync failed", { error: String(error) });
  return FAULTS.INTERNAL_ERROR.title;
}

async function finish(
  { store, ports, signals, metrics }: SyncParts,
  tenant: Tenant,
  id: string,
  { field, leaseMs, error }: {
    readonly field: DueField;
    readonly leaseMs: number;
    readonly error: unknown;
  },
): Promise<void> {
  const now = ports.clock.now();
  const failure = error === null ? null : reasonOf({ ports }, error);
  // A suspension is not the host's fault and ends as soon as the rights return, so it does not back off.
  const hasFailed = failure !== null && !(error instanceof Suspended);
  metrics.gitSync(hasFailed ? "failed" : failure === null ? "succeeded" : "suspended");
  await store.transact(async (tx) => {
    const found = await tx.get(repositories, tenant, id);
    if (found === null) return;
    const failures = hasFailed ? found.failures + 1 : 0;
    const sync_seconds = field === "due_at_ms" ? found.sync_seconds : null;
    // A push that came meanwhile has set another due time, which stays.
    const atMs = found[field] === leaseMs
      ? nextLookMs({ sync_seconds, failures }, now, ports.entropy.unit())
      : found[field];
    const last = { at_ms: now, commit: found.applied_commit, error: failure };
    tx.put(repositories, tenant, { ...found, failures, [field]: atMs, last });
    if (!hasFailed || failure === found.last?.error) return;
    emit({ ports, signals, actor: RELAY_ACTOR }, tx, tenant, {
      type: "repository_sync_failed",
      resource: { type: "repository", id },
      details: { name: found.name, repository: found.url, reason: failure },
    });
  });
}
