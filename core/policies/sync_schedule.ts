import { dueAt, isImplausible } from "../../kv/store/clock.ts";
import type { RepositoryRecord } from "../../kv/records/gitops.ts";
import type { JobRunner } from "../ports/ports.ts";

/** The longest wait between attempts after failures. */
const BACKOFF_MS_MAX = 60 * 60 * 1000;
/** Half of the first wait after a failure when a push alone requested the sync: no later push may come. */
const PUSHED_SECONDS = 30;
/** Doublings of the wait after failures. */
const DOUBLINGS_MAX = 6;
/** Exceeds the longest wait of any repository. */
const WAIT_MS_MAX = 27 * 60 * 60 * 1000;
/** Waits vary by a tenth to either side, so that organizations do not all sync at once. */
const JITTER = 0.1;

/** Wakes the runner that syncs due repositories. */
export type SyncQueue = Pick<JobRunner, "wake" | "wakeAt">;

/** The two due times of a repository: of a sync that applies, and of a look that only records what is pending. */
export type DueField = "due_at_ms" | "look_at_ms";
type Waiting = Pick<RepositoryRecord, DueField>;

export const isDue = ({ due_at_ms, look_at_ms }: Waiting, nowMs: number): boolean =>
  hasCome(due_at_ms, nowMs) || hasCome(look_at_ms, nowMs);

export const hasCome = (atMs: number | null, nowMs: number): boolean =>
  atMs !== null && dueAt(atMs, WAIT_MS_MAX, nowMs) <= nowMs;

/** True when a due time lies implausibly far ahead. */
export const hasImplausible = ({ due_at_ms, look_at_ms }: Waiting, nowMs: number): boolean =>
  [due_at_ms, look_at_ms].some((atMs) => atMs !== null && isImplausible(atMs, WAIT_MS_MAX, nowMs));

/** When a repository is synced next without a push, in ms; null for never. A failed sync is tried again. */
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

/** `nextLookMs` for a repository whose organization is inactive; never null, so that it stays in the queue. */
export const nextLookWhileInactiveMs = (
  repository: RepositoryRecord,
  nowMs: number,
  unit: number,
): number => nextLookMs(repository, nowMs, unit) ?? nowMs + BACKOFF_MS_MAX;
