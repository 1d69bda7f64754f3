import type { Log } from "../ports/ports.ts";

/** Runs tasks that no caller waits for. The stop waits for all of them. */
export class Background {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly log: Pick<Log, "error">) {}

  /** Starts `task`. A failure is logged under `name`. */
  run(name: string, task: () => Promise<unknown>): void {
    const running = task().then(
      () => {},
      (error) => this.log.error(`${name} failed`, { error: errorText(error) }),
    ).finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when no task runs, tasks started meanwhile included. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

const errorText = (error: unknown): string =>
  error instanceof Error ? error.stack ?? error.message : String(error);
