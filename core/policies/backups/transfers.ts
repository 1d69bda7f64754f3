import { isWithin } from "../../../kv/store/clock.ts";
import type { Collection, Tenant } from "../../../kv/store/collection.ts";
import { everyQueued } from "../../../kv/store/iterate.ts";
import {
  agentUpgrades,
  backups,
  deletedAgents,
  type JobRecord,
  restores,
  upgrades,
} from "../../../kv/records/backup.ts";
import { AGENT_RIGHT, type Link, type Links } from "../../agents/agents.ts";
import type { Scope } from "../../identity/identity.ts";
import { type Background, JobRunner } from "../../ports/ports.ts";
import type { TransferReply } from "../../protocol/protocol.ts";
import { type Ask, JobFailed } from "./archives.ts";
import { executeBackup, executeRestore, type ExecutionParts } from "./execute.ts";
import { mayRequesterStill } from "./requester.ts";
import { executeUpgrade, judgeUpgrade } from "../upgrades/execute.ts";
import {
  continueUpgrade,
  endAgentUpgrade,
  recordGivenUp,
  type UpgradeParts,
} from "../upgrades/progress.ts";
import { dropJobs, failJob, pruneJobs } from "./job_records.ts";

/** Concurrent jobs, in total and of one organization: each holds an archive in memory. */
const SLOTS = { all: 8, ofOne: 4 };
/** How long an agent may take for one reply, packing and restoring included. */
const REPLY_MS = 60_000;
/** How long one run of a job may take: there are few slots, and other jobs wait for them. */
const JOB_RUN_MS_MAX = 10 * 60_000;
/** A job whose agent did not come back in this time has failed. */
const JOB_MS_MAX = 15 * 60_000;
/** A job that is interrupted more often than this has failed. */
const ATTEMPTS_MAX = 5;
/** Jobs read at once. */
const PAGE = 100;

const BACKUP = { kind: "backup", of: backups } as const;
const RESTORE = { kind: "restore", of: restores } as const;

/** Raised when the link is lost during a job, which continues with the agent's next link. */
class LinkLost extends Error {
  override readonly name = "LinkLost";
}

/** A reply of an agent that a job waits for. */
interface Waiting {
  readonly link: Link;
  take(reply: TransferReply): void;
  lose(): void;
}

/** The parts of the relay that run backups, restores and upgrades. */
export interface TransferParts extends ExecutionParts {
  readonly links: Pick<Links, "of" | "holder">;
  readonly background: Background;
  /** Names this process in the records of its jobs. */
  readonly instance: string;
}

/** Runs the backups, restores and upgrades of agents that are linked to this process. */
export class Transfers {
  readonly #upgradeParts: UpgradeParts;
  readonly #jobs: JobRunner;
  /** Agents that wait for a slot or for the end of their running job, by organization. */
  readonly #later = new Map<string, Map<string, Tenant>>();
  readonly #waiting = new Map<string, Waiting>();
  /** When the job of a link must have ended. */
  readonly #ends = new Map<Link, number>();

  constructor(private readonly parts: TransferParts) {
    this.#upgradeParts = { ...parts, transfers: this };
    this.#jobs = new JobRunner({
      ports: parts.ports,
      failure: "a backup, restore or upgrade could not be run",
      slots: SLOTS,
      search: () => this.#startLater(),
    });
  }

  /** Starts or continues the job of an agent whose link is here. Never fails. */
  begin(tenant: Tenant, agentId: string): void {
    if (this.#jobs.stopped || this.parts.links.of(tenant, agentId) === undefined) return;
    const line = this.#later.get(tenant.org) ?? new Map();
    this.#later.set(tenant.org, line.set(agentId, tenant));
    this.#jobs.wake();
  }

  /** Starts waiting jobs, one of each organization in turn, without scanning all waiting jobs. */
  #startLater(): Promise<number> {
    for (const [org, line] of this.#later) {
      if (!this.#jobs.hasSlot(org)) continue;
      const next = line.entries().find(([agentId]) => !this.#jobs.isRunning(agentId));
      if (next === undefined) continue;
      const [agentId, tenant] = next;
      line.delete(agentId);
      this.#later.delete(org);
      if (line.size > 0) this.#later.set(org, line);
      const link = this.parts.links.of(tenant, agentId);
      if (link !== undefined) {
        this.#jobs.start(agentId, tenant, () => this.#run(tenant, agentId, link));
      }
    }
    return Promise.resolve(Infinity);
  }

  /** Passes an agent's reply to the job that waits for it. */
  take(link: Link, reply: TransferReply): void {
    const waiting = this.#waiting.get(reply.job_id);
    if (waiting?.link === link) waiting.take(reply);
  }

  /** Interrupts the jobs that wait for a reply over this link. */
  linkLost(link: Link): void {
    for (const waiting of [...this.#waiting.values()]) if (waiting.link === link) waiting.lose();
  }

  /** Sends something with `send` and resolves with the agent's reply. @throws {LinkLost | JobFailed} */
  #ask(link: Link, jobId: string, send: () => boolean): Promise<TransferReply> {
    const { clock } = this.parts.ports;
    return new Promise((resolve, reject) => {
      const end = (task: () => void) => {
        cancel();
        this.#waiting.delete(jobId);
        task();
      };
      const leftMs = (this.#ends.get(link) ?? Infinity) - clock.now();
      const why = leftMs < REPLY_MS
        ? "the agent took too long"
        : "the agent did not answer in time";
      const cancel = clock.after(
        Math.max(0, Math.min(REPLY_MS, leftMs)),
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
    const { parts } = this;
    const ask: Ask = (link, id, send) => this.#ask(link, id, send);
    if (link.agent !== null) await recordGivenUp(this.#upgradeParts, tenant, link.agent);
    const backup = await this.#claim(backups, tenant, agentId);
    if (backup !== null) {
      return await this.#runJob(tenant, link, backup, "policy:write", {
        execute: () => executeBackup(parts, ask, tenant, link, backup),
        fail: (why) => failJob(parts, tenant, BACKUP, backup, why),
      });
    }
    const restore = await this.#claim(restores, tenant, agentId);
    if (restore !== null) {
      return await this.#runJob(tenant, link, restore, "policy:write", {
        execute: () => executeRestore(parts, ask, tenant, link, restore),
        fail: (why) => failJob(parts, tenant, RESTORE, restore, why),
      });
    }
    const upgrade = await this.#claim(agentUpgrades, tenant, agentId);
    if (upgrade === null || await judgeUpgrade(this.#upgradeParts, tenant, link, upgrade)) return;
    await this.#runJob(tenant, link, upgrade, AGENT_RIGHT, {
      execute: () => executeUpgrade(this.#upgradeParts, ask, tenant, link, upgrade),
      fail: (why) => endAgentUpgrade(this.#upgradeParts, tenant, upgrade, why),
    });
  }

  async #runJob(
    tenant: Tenant,
    link: Link,
    job: JobRecord,
    right: Scope,
    { execute, fail }: {
      readonly execute: () => Promise<void>;
      readonly fail: (why: string) => Promise<void>;
    },
  ): Promise<void> {
    const { parts } = this;
    this.#ends.set(link, parts.ports.clock.now() + JOB_RUN_MS_MAX);
    try {
      if (job.attempt > ATTEMPTS_MAX) throw new JobFailed("the link broke too often");
      if (!await mayRequesterStill(parts, tenant, job, right)) {
        throw new JobFailed("the requester no longer has the right to it");
      }
      await execute();
      await pruneJobs(parts.store, tenant, job);
    } catch (error) {
      if (error instanceof LinkLost) return;
      await fail(error instanceof JobFailed ? error.message : "the relay failed to run it");
      if (!(error instanceof JobFailed)) throw error;
    } finally {
      this.#ends.delete(link);
    }
  }

  /** Claims the job of an agent from any earlier instance: this process has the link. */
  async #claim<T extends JobRecord>(
    of: Collection<T>,
    tenant: Tenant,
    agentId: string,
  ): Promise<T | null> {
    const { store, instance } = this.parts;
    return await store.transact(async (tx) => {
      const job = await tx.find(of, tenant, "running", [agentId]);
      if (job === null) return null;
      return tx.put(of, tenant, { ...job, attempt: job.attempt + 1, instance });
    });
  }

  /** Fails jobs whose agent did not come back, starts waiting ones, and drops the jobs of deleted agents. */
  async sweep(): Promise<void> {
    const { parts } = this;
    await this.#sweep(backups, (of, job, why) => failJob(parts, of, BACKUP, job, why));
    await this.#sweep(restores, (of, job, why) => failJob(parts, of, RESTORE, job, why));
    await this.#sweep(
      agentUpgrades,
      (of, job, why) => endAgentUpgrade(this.#upgradeParts, of, job, why),
    );
    const open = everyQueued(parts.store, upgrades, "open", { limit: PAGE });
    for await (const { tenant, record } of open) {
      await continueUpgrade(this.#upgradeParts, tenant, record.id);
    }
    const deleted = await parts.store.queued(deletedAgents, "oldest", { limit: PAGE });
    for (const { tenant, record } of deleted.items) await this.#drop(tenant, record.id);
  }

  async #sweep<T extends JobRecord>(
    of: Collection<T>,
    fail: (tenant: Tenant, job: T, why: string) => Promise<void>,
  ): Promise<void> {
    const { store, ports } = this.parts;
    for await (const { tenant, record } of everyQueued(store, of, "open", { limit: PAGE })) {
      if (this.#jobs.isRunning(record.agent_id)) continue;
      if (isWithin(record.created_at_ms, JOB_MS_MAX, ports.clock.now())) {
        this.begin(tenant, record.agent_id);
      } else await fail(tenant, record, "the agent did not reconnect in time");
    }
  }

  /** Drops the jobs and backups of a deleted agent. Never fails: the sweep drops what is left. */
  forget(tenant: Tenant, agentId: string): void {
    const { background } = this.parts;
    background.run("dropping backups of a deleted agent", () => this.#drop(tenant, agentId));
  }

  async #drop(tenant: Tenant, agentId: string): Promise<void> {
    const { store } = this.parts;
    const running = () => store.find(agentUpgrades, tenant, "running", [agentId]);
    // An instance may claim it meanwhile, which counts another attempt.
    for (let job = await running(); job !== null; job = await running()) {
      await endAgentUpgrade(this.#upgradeParts, tenant, job, "the agent was deleted");
    }
    await dropJobs(store, tenant, agentId);
  }

  /** Starts no more jobs; interrupted ones continue after the next start. */
  async stop(): Promise<void> {
    const stopped = this.#jobs.stop();
    for (const waiting of [...this.#waiting.values()]) waiting.lose();
    await stopped;
  }
}
