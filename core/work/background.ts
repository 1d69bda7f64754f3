import type { Log } from "../ports/ports.ts";

/** Runs work that no caller waits for. A stop waits for all of it. */
export class Background {
  readonly #running = new Set<Promise<void>>();

  constructor(private readonly log: Pick<Log, "error">) {}

  /** How many tasks run now. */
  get size(): number {
    return this.#running.size;
  }

  /** Starts `task`. A failure is logged under `name`. Resolves when it has ended, and never rejects. */
  run(name: string, task: () => Promise<unknown>): Promise<void> {
    const running = task().then(
      () => {},
      (error) => this.log.error(`${name} failed`, { error: errorText(error) }),
    ).finally(() => this.#running.delete(running));
    this.#running.add(running);
    return running;
  }

  /** Resolves when nothing runs any more, including what was started meanwhile. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}

const errorText = (error: unknown): string =>
  error instanceof Error ? error.stack ?? error.message : String(error);
