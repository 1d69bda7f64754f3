import type { Cancel, Clock } from "../interfaces.ts";

/** What ends at one instant, and waits for it with one timer. */
interface Deadline {
  readonly begunMs: number;
  readonly ms: number;
  readonly tasks: Set<() => void>;
  cancel: Cancel;
}

/** Timers of a clock, where those that begin in one millisecond and wait equally long share one. */
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

  /** Nobody joins it any more. */
  #end(deadline: Deadline): void {
    deadline.cancel();
    if (this.#last === deadline) this.#last = null;
  }
}
