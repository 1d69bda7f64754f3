import type { Background, Clock, Log } from "../ports/ports.ts";

const HOUSEKEEPING_MS = 30_000;

/** Periodic tasks by name, in the order in which they run. */
export type Tasks = Readonly<Record<string, () => unknown>>;

/** Runs an instance's periodic tasks. Every instance runs all of them: each task takes only what is due. */
export class Housekeeping {
  #cancel: (() => void) | null = null;
  #stopped = false;

  constructor(
    private readonly tasks: Tasks,
    private readonly ports: { readonly clock: Clock; readonly log: Log },
    private readonly background: Pick<Background, "run">,
    /** Receives how late each timer ran, in seconds. */
    private readonly onLag: (seconds: number) => void,
  ) {}

  /** Runs the tasks every 30 s from now on. */
  start(): void {
    const { clock } = this.ports;
    const dueMs = clock.now() + HOUSEKEEPING_MS;
    this.#cancel = clock.after(HOUSEKEEPING_MS, () => {
      this.onLag(Math.max(0, clock.now() - dueMs) / 1000);
      this.start();
      this.background.run("housekeeping", () => this.run());
    });
  }

  /** Runs the tasks once. Failures are logged. */
  async run(): Promise<void> {
    const failed = await runAll(this.tasks, () => this.#stopped);
    for (const [task, error] of Object.entries(failed ?? {})) {
      this.ports.log.error("housekeeping failed", { task, error });
    }
  }

  /** Starts no further task, not even of the round that runs. */
  stop(): void {
    this.#stopped = true;
    this.#cancel?.();
  }
}

/**
 * Runs all tasks in order, until `isOver`; a failure does not stop the rest. Returns the failures by task, or null.
 */
export async function runAll(
  tasks: Tasks,
  isOver = () => false,
): Promise<Record<string, string> | null> {
  const failed: Record<string, string> = {};
  for (const [name, task] of Object.entries(tasks)) {
    if (isOver()) break;
    try {
      await task();
    } catch (error) {
      failed[name] = error instanceof Error ? error.stack ?? error.message : String(error);
    }
  }
  return Object.keys(failed).length === 0 ? null : failed;
}
