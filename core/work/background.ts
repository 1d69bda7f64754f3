import type { Log } from "../ports/ports.ts";

/** Runs tasks that no caller waits for. The stop waits for all of them. */
export class Background {
  /** The tasks that run, with their names. */
  readonly #running = new Map<Promise<void>, string>();

  constructor(private readonly log: Pick<Log, "error">) {}

  /** How many tasks of this name run now. */
  count(name: string): number {
    return [...this.#running.values()].filter((each) => each === name).length;
  }

  /** Starts `task`. A failure is logged under `name`. Resolves when it has ended, and never rejects. */
  run(name: string, task: () => Promise<unknown>): Promise<void> {
    const running = task().then(
      () => {},
      (error) => this.log.error(`${name} failed`, { error: errorText(error) }),
    ).finally(() => this.#running.delete(running));
    this.#running.set(running, name);
    return running;
  }

  /** Resolves when no task runs, tasks started meanwhile included. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.keys());
  }
}

const errorText = (error: unknown): string =>
  error instanceof Error ? error.stack ?? error.message : String(error);
