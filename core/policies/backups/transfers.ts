import { type Collection, type Tenant, tenantKey } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import { backups, deletedAgents, type JobRecord, restores } from "../../../kv/records/backup.ts";
import type { Link } from "../../agents/link.ts";
import type { App } from "../../work/work.ts";
import type { TransferReply } from "../../protocol/transfers.ts";
import { carryBackup, carryRestore, JobFailed } from "./carry.ts";
import { mayStillAsk } from "../job_right.ts";
import { dropJobs, finishJob, type JobKind, pruneJobs } from "./finish.ts";

/** Agents whose configuration is carried at once, in all and of one organization: each holds an archive in memory. */
const CONCURRENCY = 8;
const OF_ONE_MAX = 4;
/** How long an agent may take for one answer; packing and restoring are among them. */
const ANSWER_MS = 60_000;
/** How long an agent may take for a whole archive: there are few places, and others wait for them. */
const CARRY_MS_MAX = 10 * 60_000;
/** A job that no agent came back for. */
const JOB_MS_MAX = 15 * 60_000;
/** A job that is cut this often is given up. */
const ATTEMPTS_MAX = 5;
/** Jobs that are read at once. */
const PAGE = 100;

/** The link was lost on the way: the job goes on with the agent's next one. */
class LinkLost extends Error {
  override readonly name = "LinkLost";
}

/** An answer of an agent that is being waited for. */
interface Waiting {
  readonly link: Link;
  take(reply: TransferReply): void;
  lose(): void;
}

/** Backups and restores that this process carries. */
export class Transfers {
  readonly #running = new Map<string, { readonly org: string; readonly ended: Promise<void> }>();
  /** What is begun when something has ended: of agents that are being served, or found no room, by organization. */
  readonly #later = new Map<string, Map<string, () => void>>();
  readonly #waiting = new Map<string, Waiting>();
  /** When what is carried over a link has to be whole. */
  readonly #ends = new Map<Link, number>();
  #stopped = false;

  constructor(private readonly app: () => App) {}

  /** Begins what waits for an agent, or goes on with it, if its link is here; never fails. */
  begin(tenant: Tenant, agentId: string): void {
    const key = `${tenantKey(tenant)}/${agentId}`;
    const link = this.app().links.of(tenant, agentId);
    if (this.#stopped || link === undefined) return;
    if (this.#running.has(key) || !this.#hasRoom(tenant.org)) {
      const line = this.#later.get(tenant.org) ?? new Map();
      this.#later.set(tenant.org, line.set(key, () => this.begin(tenant, agentId)));
      return;
    }
    const ended = this.#run(tenant, agentId, link)
      .catch((error) => {
        const fields = { error: String(error) };
        this.app().ports.log.error("a backup or restore could not be carried", fields);
      })
      .finally(() => {
        this.#running.delete(key);
        this.#beginLater();
      });
    this.#running.set(key, { org: tenant.org, ended });
  }

  /** Begins one of each organization in turn while there is room: thousands may wait, and are not looked at. */
  #beginLater(): void {
    for (const [org, line] of this.#later) {
      if (!this.#hasRoom(org)) continue;
      const next = line.keys().find((key) => !this.#running.has(key));
      if (next === undefined) continue;
      const begin = line.get(next)!;
      line.delete(next);
      this.#later.delete(org);
      if (line.size > 0) this.#later.set(org, line);
      begin();
    }
  }

  #hasRoom(org: string): boolean {
    const own = [...this.#running.values()].filter((one) => one.org === org).length;
    return own < OF_ONE_MAX && this.#running.size < CONCURRENCY;
  }

  /** An agent answers. */
  take(link: Link, reply: TransferReply): void {
    const waiting = this.#waiting.get(reply.job_id);
    if (waiting?.link === link) waiting.take(reply);
  }

  /** A link has ended. */
  linkLost(link: Link): void {
    for (const waiting of [...this.#waiting.values()]) if (waiting.link === link) waiting.lose();
  }

  /** The next answer of an agent to what `send` sends. @throws {LinkLost | JobFailed} */
  ask(link: Link, jobId: string, send: () => boolean): Promise<TransferReply> {
    const { clock } = this.app().ports;
    return new Promise((resolve, reject) => {
      const end = (task: () => void) => {
        cancel();
        this.#waiting.delete(jobId);
        task();
      };
      const leftMs = (this.#ends.get(link) ?? Infinity) - clock.now();
      const why = leftMs < ANSWER_MS
        ? "the agent took too long"
        : "the agent did not answer in time";
      const cancel = clock.after(
        Math.max(0, Math.min(ANSWER_MS, leftMs)),
        () => end(() => reject(new JobFailed(why))),
      );
      this.#waiting.set(jobId, {
        link,
        take: (reply) =>
          end(() =>
            reply.type === "transfer_failed" ? reject(new JobFailed(reply.message)) : resolve(reply)
          ),
        lose: () => end(() => reject(new LinkLost("the link was lost"))),
      });
      if (!send()) this.#waiting.get(jobId)?.lose();
    });
  }

  async #run(tenant: Tenant, agentId: string, link: Link): Promise<void> {
    const app = this.app();
    const backup = await this.#claim(backups, tenant, agentId);
    const restore = backup === null ? await this.#claim(restores, tenant, agentId) : null;
    const job = backup ?? restore;
    if (job === null) return;
    this.#ends.set(link, app.ports.clock.now() + CARRY_MS_MAX);
    try {
      if (job.attempt > ATTEMPTS_MAX) throw new JobFailed("its link broke too often");
      if (!await mayStillAsk(app, tenant, job)) {
        throw new JobFailed("who asked for it may not do so any more");
      }
      if (backup !== null) await carryBackup(app, tenant, link, backup);
      if (restore !== null) await carryRestore(app, tenant, link, restore);
      await pruneJobs(app, tenant, job);
    } catch (error) {
      if (error instanceof LinkLost) return;
      const why = error instanceof JobFailed ? error.message : "the relay could not carry it";
      if (backup !== null) {
        await finishJob(app, tenant, { kind: "backup", of: backups }, job, why);
      } else await finishJob(app, tenant, { kind: "restore", of: restores }, job, why);
      if (!(error instanceof JobFailed)) throw error;
    } finally {
      this.#ends.delete(link);
    }
  }

  /** Takes the job of an agent over from whoever had it before: this process has the link. */
  async #claim<T extends JobRecord>(
    of: Collection<T>,
    tenant: Tenant,
    agentId: string,
  ): Promise<T | null> {
    const { store, instance } = this.app();
    return await store.transact(async (tx) => {
      const job = await tx.find(of, tenant, "running", [agentId]);
      if (job === null) return null;
      return tx.put(of, tenant, { ...job, attempt: job.attempt + 1, instance });
    });
  }

  /** Gives up what nobody came back for, begins what found no room, drops what deleted agents had. */
  async sweep(): Promise<void> {
    await this.#sweep("backup", backups);
    await this.#sweep("restore", restores);
    const { store } = this.app();
    const deleted = await store.queued(deletedAgents, "oldest", { limit: PAGE });
    for (const { tenant, record } of deleted.items) await dropJobs(this.app(), tenant, record.id);
  }

  async #sweep<T extends JobRecord>(kind: JobKind, of: Collection<T>): Promise<void> {
    const { store, ports } = this.app();
    for await (const { tenant, record } of everyQueued(store, of, "open", { limit: PAGE })) {
      if (this.#running.has(`${tenantKey(tenant)}/${record.agent_id}`)) continue;
      // One that was begun in the future was so by a clock that has been set right since.
      if (Math.abs(ports.clock.now() - record.created_at_ms) < JOB_MS_MAX) {
        this.begin(tenant, record.agent_id);
      } else {
        const why = "the agent did not come back in time";
        await finishJob(this.app(), tenant, { kind, of }, record, why);
      }
    }
  }

  /** The agent was removed, and with it go its backups; never fails: what is left is the sweep's. */
  forget(tenant: Tenant, agentId: string): void {
    const app = this.app();
    app.background.run(
      "deleting the backups of a deleted agent",
      () => dropJobs(app, tenant, agentId),
    );
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) {
      await Promise.all([...this.#running.values()].map(({ ended }) => ended));
    }
  }

  /** Begins nothing any more; what is under way goes on after the next start. */
  async stop(): Promise<void> {
    this.#stopped = true;
    for (const waiting of [...this.#waiting.values()]) waiting.lose();
    await this.idle();
  }
}
