import type { Cancel, Clock } from "../interfaces.ts";

/** Tasks that share one deadline and one timer. */
interface Deadline {
  readonly begunMs: number;
  readonly ms: number;
  readonly tasks: Set<() => void>;
  cancel: Cancel;
}

/** Timers of a clock. Timers of one length that start in the same millisecond share one. */
export class Deadlines {
  #last: Deadline | null = null;

  constructor(private readonly clock: Clock) {}

  /** Runs `task` once, `ms` from now, unless cancelled. */
  after(ms: number, task: () => void): Cancel {
    const begunMs = this.clock.now();
    const last = this.#last;
    const deadline = last?.begunMs === begunMs && last.ms === ms ? last : this.#begin(begunMs, ms);
    deadline.tasks.add(task);
    return () => {
      if (deadline.tasks.delete(task) && deadline.tasks.size === 0) this.#end(deadline);
    };
  }

  #begin(begunMs: number, ms: number): Deadline {
    const tasks = new Set<() => void>();
    const deadline: Deadline = { begunMs, ms, tasks, cancel: () => {} };
    deadline.cancel = this.clock.after(ms, () => {
      this.#end(deadline);
      for (const task of tasks) {
        tasks.delete(task);
        task();
      }
    });
    return this.#last = deadline;
  }

  /** Closes the group to further tasks. */
  #end(deadline: Deadline): void {
    deadline.cancel();
    if (this.#last === deadline) this.#last = null;
  }
}
