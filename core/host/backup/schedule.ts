import { type Clock, isWithin } from "../../../kv/store/clock.ts";
import { DAY_MS, HOUR_MS, MINUTE_MS } from "../../../kv/store/durations.ts";
import { isFile } from "../../../kv/maintenance/location.ts";
import { newestTakenMs } from "./keep.ts";

/** A failed backup is tried again after this time, or when the next one is due. */
const RETRY_MS = 10 * MINUTE_MS;

/** The schedule of the configuration. */
interface Schedule {
  /** Null when no backups are scheduled. */
  readonly folder: string | null;
  readonly every_hours: number;
  readonly keep_days: number;
}

/** What scheduled backups use. */
interface Parts {
  readonly ports: {
    readonly clock: Pick<Clock, "now">;
    readonly log: Record<
      "info" | "error",
      (message: string, fields: Readonly<Record<string, unknown>>) => void
    >;
    readonly storeBackups: {
      add(folder: string, keepMs: number, signal: AbortSignal): Promise<void>;
    };
  };
  readonly config: () => { readonly backups: Schedule };
  readonly settings: { readonly kv: string | null };
  readonly epoch: string;
  readonly background: { run(name: string, task: () => Promise<void>): void };
  readonly metrics: { backup(result: "succeeded" | "failed"): void };
}

interface Attempt {
  readonly startedMs: number;
  /** Why it failed; null for one that succeeded. */
  readonly error: string | null;
}

/** True when a backup is due: the newest one and the last attempt are too long ago, or were made by a clock ahead. */
export function isBackupDue(
  newestMs: number | null,
  last: Attempt | null,
  everyMs: number,
  nowMs: number,
): boolean {
  if (newestMs !== null && isWithin(newestMs, everyMs, nowMs)) return false;
  if (last === null) return true;
  // An attempt that succeeded counts although the folder no longer shows it.
  const pauseMs = last.error === null ? everyMs : Math.min(everyMs, RETRY_MS);
  return !isWithin(last.startedMs, pauseMs, nowMs);
}

/** When the newest one of the folder was taken; null also for a folder that cannot be read: the attempt says why. */
function newestMsIn(folder: string, epoch: string): number | null {
  try {
    return newestTakenMs(folder, epoch);
  } catch {
    return null;
  }
}

/**
 * The scheduled backups of an embedded store, one at a time. The newest one of the folder says when the next is due: a
 * backup that was taken elsewhere does not count. Of the attempts only the last is remembered, so a restarted relay tries at once when a backup is due.
 */
export class ScheduledBackups {
  #running: AbortController | null = null;
  #last: Attempt | null = null;

  constructor(private readonly parts: Parts) {}

  /** Why the last attempt failed; null after one that succeeded and before the first. */
  get error(): string | null {
    return this.#last?.error ?? null;
  }

  /** Starts a backup if one is due. */
  sweep(): void {
    const { config, settings, epoch, ports, background } = this.parts;
    const { folder, every_hours, keep_days } = config().backups;
    if (folder === null || this.#running !== null) return;
    if (!isFile(settings.kv)) return;
    const newestMs = newestMsIn(folder, epoch);
    const startedMs = ports.clock.now();
    if (!isBackupDue(newestMs, this.#last, every_hours * HOUR_MS, startedMs)) return;
    const running = this.#running = new AbortController();
    background.run("the scheduled backup", async () => {
      try {
        await this.#run(folder, keep_days * DAY_MS, startedMs, running.signal);
      } finally {
        this.#running = null;
      }
    });
  }

  /** Ends the backup that is being written, if any: the next one removes what it leaves. */
  stop(): void {
    this.#running?.abort();
  }

  async #run(
    folder: string,
    keepMs: number,
    startedMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    const { log, storeBackups } = this.parts.ports;
    const error = await storeBackups.add(folder, keepMs, signal).then(
      () => null,
      (error: Error) => error.message,
    );
    if (signal.aborted) return;
    this.#last = { startedMs, error };
    this.parts.metrics.backup(error === null ? "succeeded" : "failed");
    if (error === null) log.info("a scheduled backup was taken", { folder });
    else log.error("the scheduled backup failed", { folder, error });
  }
}
