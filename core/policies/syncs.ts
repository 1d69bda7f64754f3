import { SYSTEM, type Tenant, tenantKey } from "../../kv/store/collection.ts";
import { everyQueued } from "../../kv/store/iterate.ts";
import { repositories, type RepositoryRecord } from "../../kv/records/gitops.ts";
import { organizations } from "../../kv/records/organization.ts";
import type { App } from "../work/work.ts";
import { emit, RELAY_ACTOR } from "../events/events.ts";
import { Fault, FAULTS } from "../fault/fault.ts";
import { REPOSITORY } from "./standing.ts";
import { noteStanding } from "../access/standing/review.ts";
import { activate, Overtaken } from "./activate.ts";
import { readWanted } from "./apply.ts";
import { fetchHead } from "./git/fetch.ts";
import { GitFailure } from "./git/git_failure.ts";
import { endPending, showPending } from "./pending.ts";
import { sourceOf } from "./repositories.ts";
import { mustAct, Suspended } from "./suspended.ts";

/** Longer than a fetch and an apply take: another instance does not begin the same, and a crash is made up for. */
const LEASE_MS = 60_000;
/** Repositories that are looked at together, over all organizations and of one: a host may take its time. */
const CONCURRENCY = 4;
const OF_ONE_MAX = 2;
/** Due ones that are read at a time. */
const PAGE = 16;
/** Fetches that somebody waits for, over all organizations and of one: each holds a repository in memory. */
const AWAITED_MAX = 8;
const AWAITED_OF_ONE_MAX = 3;
const BACKOFF_MS_MAX = 60 * 60 * 1000;
/** Half of the first wait after a look failed that only a push asks for: a push comes once. */
const PUSHED_SECONDS = 30;
/** Doublings of the wait after failures. */
const DOUBLINGS_MAX = 6;
/** Longer than any look waits for its turn: one that is due later was put off by a clock that has been set back. */
const WAIT_MS_MAX = 27 * 60 * 60 * 1000;
/** Looks are spread by a tenth to either side, so that organizations do not come all at once. */
const JITTER = 0.1;

/** Looks at repositories when they are due, and brings into force what has changed. */
export class Syncs {
  readonly #running = new Map<string, { readonly org: string; readonly ended: Promise<void> }>();
  readonly #others = new Set<Promise<void>>();
  readonly #awaited: string[] = [];
  #waking: Promise<void> | null = null;
  /** Something came due while the store was being asked. */
  #again = false;
  #alarm: { readonly atMs: number; readonly cancel: () => void } | null = null;
  #stopped = false;

  constructor(private readonly app: () => App) {}

  /** Something may be due now; never fails. */
  wake(): void {
    this.#again = true;
    this.#waking ??= this.#sweepAll()
      .catch((error) => {
        const fields = { error: String(error) };
        this.app().ports.log.error("repositories could not be looked at", fields);
      })
      .finally(() => {
        this.#waking = null;
        if (this.#again && !this.#stopped) this.wake();
      });
  }

  /** Something will be due then. */
  wakeAt(atMs: number): void {
    const { clock } = this.app().ports;
    if (atMs <= clock.now()) return this.wake();
    if (this.#alarm !== null && this.#alarm.atMs <= atMs) return;
    this.#alarm?.cancel();
    const cancel = clock.after(atMs - clock.now(), () => {
      this.#alarm = null;
      this.wake();
    });
    this.#alarm = { atMs, cancel };
  }

  /** Begins nothing any more; resolves when what was under way has ended. */
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

  /** Starts on what is due, as far as there is room; what is left is begun when there is. */
  async sweep(): Promise<void> {
    const { store, ports } = this.app();
    const now = ports.clock.now(), before = [now + 1];
    for await (const due of everyQueued(store, repositories, "due", { limit: PAGE, before })) {
      if (!this.#hasRoom()) break;
      this.#begin(due.tenant, due.record.id);
    }
    const last = await store.queued(repositories, "due", { limit: PAGE, reverse: true });
    for (const { tenant, record } of last.items) {
      if (isPutOff(record, now)) this.#begin(tenant, record.id);
    }
  }

  #hasRoom(): boolean {
    return !this.#stopped && this.#running.size < CONCURRENCY;
  }

  #begin(tenant: Tenant, id: string): void {
    const key = `${tenantKey(tenant)}/${id}`;
    const { org } = tenant;
    const own = [...this.#running.values()].filter((one) => one.org === org).length;
    if (!this.#hasRoom() || this.#running.has(key) || own >= OF_ONE_MAX) return;
    const { log } = this.app().ports;
    const ended = this.#sync(tenant, id)
      .then(() => true, (error) => {
        log.error("a sync failed", { error: String(error) });
        return false;
      })
      .then((isKept) => {
        this.#running.delete(key);
        // Where the store could not be written it is still due; the next sweep tries it again, and not at once.
        if (isKept) this.wake();
      });
    this.#running.set(key, { org, ended });
  }

  /** Something is under way that never fails, and that the relay's end waits for. */
  also(task: Promise<void>): void {
    this.#others.add(task);
    task.then(() => this.#others.delete(task));
  }

  /** A fetch that somebody waits for. @throws {Fault} UNAVAILABLE when too many are under way */
  async awaited<T>({ org }: Tenant, task: () => Promise<T>): Promise<T> {
    const own = this.#awaited.filter((each) => each === org).length;
    if (own >= AWAITED_OF_ONE_MAX || this.#awaited.length >= AWAITED_MAX) {
      throw new Fault("UNAVAILABLE", "Too many repositories are being fetched. Apply again soon.");
    }
    this.#awaited.push(org);
    try {
      return await task();
    } finally {
      this.#awaited.splice(this.#awaited.indexOf(org), 1);
    }
  }

  /** How many others are under way. */
  get alsoRunning(): number {
    return this.#others.size;
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#waking !== null || this.#running.size + this.#others.size > 0) {
      await this.#waking;
      const running = [...this.#running.values()].map(({ ended }) => ended);
      await Promise.all([...running, ...this.#others]);
    }
  }

  async #sync(tenant: Tenant, id: string): Promise<void> {
    const { store, ports } = this.app();
    const now = ports.clock.now();
    const leaseMs = now + LEASE_MS;
    // What is due by schedule or by a signed push is applied; after an unsigned push it is only shown.
    let field: Due = "due_at_ms";
    const repository = await store.transact(async (tx) => {
      const found = await tx.get(repositories, tenant, id);
      if (found === null || !isDue(found, now)) return null;
      field = isDueIn(found.due_at_ms, now) ? "due_at_ms" : "look_at_ms";
      if (!(await tx.get(organizations, SYSTEM, tenant.org))?.active) {
        // Not looked at while its organization is off, and not forgotten.
        const due_at_ms = nextLookMs(found, now, ports.entropy.unit()) ?? now + BACKOFF_MS_MAX;
        tx.put(repositories, tenant, { ...found, [field]: due_at_ms });
        return null;
      }
      return tx.put(repositories, tenant, { ...found, [field]: leaseMs });
    });
    if (repository === null) return;
    const error = await this.#follow(tenant, repository, field).then(() => null, (error) => error);
    if (error instanceof Overtaken) return await this.#lookAgain(tenant, id, field);
    if (error instanceof Suspended) {
      await noteStanding(this.app(), tenant, REPOSITORY, repository);
    }
    await this.#finish(tenant, id, { field, leaseMs, error });
  }

  async #follow(tenant: Tenant, repository: RepositoryRecord, field: Due): Promise<void> {
    const app = this.app();
    const { person } = await mustAct(app.store, tenant, repository);
    const { branch, policy_path: path } = repository;
    const source = await sourceOf(app, tenant, repository, { branch, path });
    const head = await fetchHead(app.ports, source);
    if (head === repository.applied_commit) {
      if (repository.pending !== null) await endPending(app, tenant, repository);
      return;
    }
    if (field === "look_at_ms") {
      if (head !== repository.pending?.commit) await showPending(app, tenant, repository);
      return;
    }
    const wanted = await readWanted(app, tenant, repository, { branch, path });
    const relay = { ...app, app, actor: RELAY_ACTOR, onBehalfOf: person };
    await activate(relay, tenant, repository, wanted);
  }

  /** What was applied meanwhile may be older than what was seen here, so the repository is due at once. */
  async #lookAgain(tenant: Tenant, id: string, field: Due): Promise<void> {
    const { store, ports } = this.app();
    const nowMs = ports.clock.now();
    await store.transact(async (tx) => {
      const found = await tx.get(repositories, tenant, id);
      if (found !== null) tx.put(repositories, tenant, { ...found, [field]: nowMs });
    });
  }

  /** Why a sync came to nothing, for whoever looks at the repository. */
  #reasonOf(error: unknown): string {
    if (error instanceof Fault || error instanceof GitFailure) return error.message;
    this.app().ports.log.error("a sync failed", { error: String(error) });
    return FAULTS.INTERNAL_ERROR.title;
  }

  async #finish(
    tenant: Tenant,
    id: string,
    { field, leaseMs, error }: {
      readonly field: Due;
      readonly leaseMs: number;
      readonly error: unknown;
    },
  ): Promise<void> {
    const app = this.app();
    const now = app.ports.clock.now();
    const failure = error === null ? null : this.#reasonOf(error);
    // The host is not to blame for a suspension, which ends as soon as rights return.
    const hasFailed = failure !== null && !(error instanceof Suspended);
    await app.store.transact(async (tx) => {
      const found = await tx.get(repositories, tenant, id);
      if (found === null) return;
      const failures = hasFailed ? found.failures + 1 : 0;
      const sync_seconds = field === "due_at_ms" ? found.sync_seconds : null;
      // Who pushed meanwhile has asked for another look.
      const atMs = found[field] === leaseMs
        ? nextLookMs({ sync_seconds, failures }, now, app.ports.entropy.unit())
        : found[field];
      const last = { at_ms: now, commit: found.applied_commit, error: failure };
      tx.put(repositories, tenant, { ...found, failures, [field]: atMs, last });
      if (!hasFailed || failure === found.last?.error) return;
      emit({ ports: app.ports, signals: app.signals, actor: RELAY_ACTOR }, tx, tenant, {
        type: "repository_sync_failed",
        resource: { type: "repository", id },
        details: { name: found.name, repository: found.url, reason: failure },
      });
    });
  }
}

/** What is due: an apply, or only a look at what is pending. */
type Due = "due_at_ms" | "look_at_ms";
type Waiting = Pick<RepositoryRecord, Due>;

const isDue = ({ due_at_ms, look_at_ms }: Waiting, nowMs: number): boolean =>
  isDueIn(due_at_ms, nowMs) || isDueIn(look_at_ms, nowMs);

const isDueIn = (atMs: number | null, nowMs: number): boolean =>
  atMs !== null && (atMs <= nowMs || atMs > nowMs + WAIT_MS_MAX);

const isPutOff = ({ due_at_ms, look_at_ms }: Waiting, nowMs: number): boolean =>
  [due_at_ms, look_at_ms].some((atMs) => atMs !== null && atMs > nowMs + WAIT_MS_MAX);

/** When a repository is looked at next by itself, in ms; null for never. What failed is tried again. */
export function nextLookMs(
  { sync_seconds, failures }: Pick<RepositoryRecord, "sync_seconds" | "failures">,
  nowMs: number,
  unit: number,
): number | null {
  if (sync_seconds === null && failures === 0) return null;
  const everyMs = (sync_seconds ?? PUSHED_SECONDS) * 1000;
  const backedOffMs = everyMs * 2 ** Math.min(failures, DOUBLINGS_MAX);
  const waitMs = Math.max(everyMs, Math.min(backedOffMs, BACKOFF_MS_MAX));
  return Math.round(nowMs + waitMs * (1 - JITTER + 2 * JITTER * unit));
}
