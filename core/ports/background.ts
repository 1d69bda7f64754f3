/** Runs tasks that no caller waits for. The process waits for all of them before it stops. */
export class Background {
  /** The tasks that run, with their names. */
  readonly #running = new Map<Promise<void>, string>();

  /** `onError` gets the failure of a task and the task's name. */
  constructor(private readonly onError: (name: string, error: unknown) => void) {}

  /** How many tasks run now. */
  get size(): number {
    return this.#running.size;
  }

  /** How many tasks of this name run now. */
  count(name: string): number {
    return [...this.#running.values()].filter((each) => each === name).length;
  }

  /** Starts `task`. Resolves when it has ended, and never rejects. */
  run(name: string, task: () => Promise<unknown>): Promise<void> {
    const running = task().then(() => {}, (error) => this.onError(name, error))
      .finally(() => this.#running.delete(running));
    this.#running.set(running, name);
    return running;
  }

  /** Resolves when no task runs, tasks started meanwhile included. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.keys());
  }
}
