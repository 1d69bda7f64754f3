import type { Collection, Row, Tenant } from "../../../kv/store/collection.ts";
import type { Tx } from "../../../kv/store/tx.ts";
import type { Context } from "../../context/context.ts";
import type { Clock } from "../../ports/ports.ts";

/** Longer than an attempt's deadline of 10 s, so a lease ends only when its process died. */
export const LEASE_MS = 30_000;

/** The longest that an attempt takes from its claim, in ms: its deadline of 10 s and the commit of its outcome. */
const ATTEMPT_MS = 15_000;

/** The fields that make a row a retried job. */
export interface Job {
  /** Attempts begun; counted at the claim, so that a crash cannot exceed the policy. */
  readonly attempt: number;
  /** When it is due or its lease ends; null when there is nothing to do. */
  readonly due_at_ms: number | null;
}

/** A collection whose rows are jobs. */
export interface JobCollection<T extends Row> {
  readonly of: Collection<T>;
  /** Whether a job with this due time is due now. */
  readonly isDue: (dueMs: number, nowMs: number) => boolean;
  /** The job's fields of a row. */
  readonly jobOf: (row: T) => Job;
  /** The row during an attempt, with these fields. */
  readonly during: (row: T, job: Job) => T;
}

/** The job with an attempt that starts now. */
export const withAttempt = ({ attempt }: Job, nowMs: number) => ({
  attempt: attempt + 1,
  due_at_ms: nowMs + LEASE_MS,
});

/**
 * False when an attempt may outlast its lease, because this process has been stalled since the claim: another process may
 * take over, so nothing is sent.
 */
export const fitsLease = ({ due_at_ms }: Job, nowMs: number): boolean =>
  due_at_ms !== null && nowMs + ATTEMPT_MS <= due_at_ms;

/**
 * Claims a due job before anything is sent: the attempt is counted and the lease taken in one commit, so of several
 * instances one gets it. Null when it is not due or has expired.
 */
export async function claimJob<T extends Row>(
  { store, ports }: Pick<Context, "store" | "ports">,
  { of, isDue, jobOf, during }: JobCollection<T>,
  tenant: Tenant,
  id: string,
): Promise<T | null> {
  const nowMs = ports.clock.now();
  const claimed = await store.transact(async (tx) => {
    const row = await tx.getStored(of, tenant, id);
    if (row === null) return null;
    const job = jobOf(row);
    if (job.due_at_ms === null || !isDue(job.due_at_ms, nowMs)) return null;
    if (store.isLive(of, row)) return tx.put(of, tenant, during(row, withAttempt(job, nowMs)));
    // An expired job would block the jobs after it.
    tx.delete(of, tenant, id);
    return null;
  });
  return claimed !== null && fitsLease(jobOf(claimed), ports.clock.now()) ? claimed : null;
}

/** The claimed job's row; null when another attempt took over, whose outcome counts. */
export async function getClaimed<T extends Row>(
  tx: Tx,
  { of, jobOf }: JobCollection<T>,
  tenant: Tenant,
  claimed: T,
): Promise<T | null> {
  const row = await tx.get(of, tenant, claimed.id);
  return row !== null && jobOf(row).attempt === jobOf(claimed).attempt ? row : null;
}

/** When the next attempt is due. The engine's alarm, where there is one, wakes the runners then. */
export function scheduleRetry(tx: Tx, clock: Clock, delayMs: number | null): number | null {
  if (delayMs === null) return null;
  tx.alarm(delayMs);
  return clock.now() + delayMs;
}
