import { SYSTEM, type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import { organizations } from "../../kv/records/organization.ts";
import type { Context } from "../context/context.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { Fault, FAULTS } from "../fault/fault.ts";
import { activate, Overtaken } from "./activate.ts";
import { readWanted } from "./apply.ts";
import { fetchHead } from "./git/fetch.ts";
import { GitFailure } from "./git/git_failure.ts";
import { clearPending, recordPending } from "./pending_commit.ts";
import { type FetchParts, sourceOf } from "./source.ts";
import { mustAct, Suspended } from "./suspended.ts";
import {
  type DueField,
  hasCome,
  isDue,
  isImplausible,
  nextLookMs,
  nextLookWhileOffMs,
} from "./sync_schedule.ts";

/** Longer than a fetch and an apply take: no other instance starts the same sync, and a crash only delays it. */
const LEASE_MS = 60_000;
/** Syncs at once, over all organizations and of one: a host may be slow. */
const CONCURRENCY = 4;
const OF_ONE_MAX = 2;
/** Due repositories read at once. */
const PAGE = 16;
/** Fetches that callers wait for, over all organizations and of one: each holds a repository in memory. */
const AWAITED_MAX = 8;
const AWAITED_OF_ONE_MAX = 3;

/** The parts of the relay that a sync uses. */
export interface SyncParts extends FetchParts, Pick<Context, "store" | "signals"> {
  /** Records that a repository is suspended or works again. */
  noteStanding(tenant: Tenant, repository: RepositoryRecord): Promise<void>;
}

/** Syncs repositories when they are due: fetches the head of the branch and applies what has changed. */
export class Syncs {
  readonly #running = new Map<string, { readonly org: string; readonly ended: Promise<void> }>();
  readonly #awaited: string[] = [];
  #waking: Promise<void> | null = null;
  /** True when a repository came due while the store was being read. */
  #again = false;
  #alarm: { readonly atMs: number; readonly cancel: () => void } | null = null;
  #stopped = false;

  constructor(private readonly parts: SyncParts) {}

  /** A repository may be due now. Never fails. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#waking ??= this.#sweepAll()
      .catch((error) => {
        this.parts.ports.log.error("due repositories could not be read", { error: String(error) });
      })
      .finally(() => {
        this.#waking = null;
        if (this.#again) this.wake();
      });
  }

  /** A repository is due at `atMs`. */
  wakeAt(atMs: number): void {
    if (this.#stopped) return;
    const { clock } = this.parts.ports;
    if (atMs <= clock.now()) return this.wake();
    if (this.#alarm !== null && this.#alarm.atMs <= atMs) return;
    this.#alarm?.cancel();
    const cancel = clock.after(atMs - clock.now(), () => {
      this.#alarm = null;
      this.wake();
    });
    this.#alarm = { atMs, cancel };
  }

  /** Starts nothing more and waits for the syncs under way. */
  async stop(): Promise<void> {
    this.#alarm?.cancel();
    this.#stopped = true;
    await this.idle();
  }

  async #sweepAll(): Promise<void> {
    while (this.#again) {
      this.#again = false;
      await this.sweep();
    }
  }

  /** Starts the syncs that are due, as many as may run at once; each one that ends starts the next. */
  async sweep(): Promise<void> {
    const { store, ports } = this.parts;
    const now = ports.clock.now(), before = [now + 1];
    for await (const due of everyQueued(store, repositories, "due", { limit: PAGE, before })) {
      if (!this.#hasCapacity()) break;
      this.#begin(due.tenant, due.record.id);
    }
    const last = await store.queued(repositories, "due", { limit: PAGE, reverse: true });
    for (const { tenant, record } of last.items) {
      if (isImplausible(record, now)) this.#begin(tenant, record.id);
    }
  }

  #hasCapacity(): boolean {
    return !this.#stopped && this.#running.size < CONCURRENCY;
  }

  #begin(tenant: Tenant, id: string): void {
    const key = `${tenantKey(tenant)}/${id}`;
    const { org } = tenant;
    const own = [...this.#running.values()].filter((one) => one.org === org).length;
    if (!this.#hasCapacity() || this.#running.has(key) || own >= OF_ONE_MAX) return;
    const { log } = this.parts.ports;
    const ended = this.#sync(tenant, id)
      .then(() => true, (error) => {
        log.error("a sync failed", { error: String(error) });
        return false;
      })
      .then((isRecorded) => {
        this.#running.delete(key);
        // An unrecorded sync is still due. The next sweep tries it again; waking here would loop.
        if (isRecorded) this.wake();
      });
    this.#running.set(key, { org, ended });
  }

  /** Runs a fetch that a caller waits for. @throws {Fault} UNAVAILABLE when too many are under way */
  async awaited<T>({ org }: Tenant, task: () => Promise<T>): Promise<T> {
    const own = this.#awaited.filter((each) => each === org).length;
    if (own >= AWAITED_OF_ONE_MAX || this.#awaited.length >= AWAITED_MAX) {
      throw new Fault("UNAVAILABLE", "Too many repositories are being fetched. Apply again later.");
    }
    this.#awaited.push(org);
    try {
      return await task();
    } finally {
      this.#awaited.splice(this.#awaited.indexOf(org), 1);
    }
  }

  /** Resolves when no sync is under way. */
  async idle(): Promise<void> {
    while (this.#waking !== null || this.#running.size > 0) {
      await this.#waking;
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    }
  }

  async #sync(tenant: Tenant, id: string): Promise<void> {
    const { store, ports } = this.parts;
    const now = ports.clock.now();
    const leaseMs = now + LEASE_MS;
    // A scheduled sync and a signed push apply what they find; an unsigned push only records it as pending.
    let field: DueField = "due_at_ms";
    const repository = await store.transact(async (tx) => {
      const found = await tx.get(repositories, tenant, id);
      if (found === null || !isDue(found, now)) return null;
      field = hasCome(found.due_at_ms, now) ? "due_at_ms" : "look_at_ms";
      if (!(await tx.get(organizations, SYSTEM, tenant.org))?.active) {
        const atMs = nextLookWhileOffMs(found, now, ports.entropy.unit());
        tx.put(repositories, tenant, { ...found, [field]: atMs });
        return null;
      }
      return tx.put(repositories, tenant, { ...found, [field]: leaseMs });
    });
    if (repository === null) return;
    const error = await this.#follow(tenant, repository, field).then(() => null, (error) => error);
    if (error instanceof Overtaken) return await this.#syncAgain(tenant, id, field);
    if (error instanceof Suspended) await this.parts.noteStanding(tenant, repository);
    await this.#finish(tenant, id, { field, leaseMs, error });
  }

  /** Brings what is in force, or only what is pending, up to the head of the branch. */
  async #follow(tenant: Tenant, repository: RepositoryRecord, field: DueField): Promise<void> {
    const { parts } = this;
    const { person } = await mustAct(parts.store, tenant, repository);
    const { branch, policy_path: path } = repository;
    const source = await sourceOf(parts, tenant, repository, { branch, path });
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
  async #syncAgain(tenant: Tenant, id: string, field: DueField): Promise<void> {
    const { store, ports } = this.parts;
    const nowMs = ports.clock.now();
    await store.transact(async (tx) => {
      const found = await tx.get(repositories, tenant, id);
      if (found !== null) tx.put(repositories, tenant, { ...found, [field]: nowMs });
    });
  }

  /** Why a sync failed, for readers of the repository. */
  #reasonOf(error: unknown): string {
    if (error instanceof Fault || error instanceof GitFailure) return error.message;
    this.parts.ports.log.error("a sync failed", { error: String(error) });
    return FAULTS.INTERNAL_ERROR.title;
  }

  async #finish(
    tenant: Tenant,
    id: string,
    { field, leaseMs, error }: {
      readonly field: DueField;
      readonly leaseMs: number;
      readonly error: unknown;
    },
  ): Promise<void> {
    const { store, ports, signals } = this.parts;
    const now = ports.clock.now();
    const failure = error === null ? null : this.#reasonOf(error);
    // A suspension is not the host's fault and ends as soon as the rights return, so it does not back off.
    const hasFailed = failure !== null && !(error instanceof Suspended);
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
}
