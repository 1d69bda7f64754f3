import type { Cancel, Ports } from "./interfaces.ts";
import { Background } from "./background.ts";

/** The wait before another search after an error. */
const RETRY_MS = 1_000;

/** What a runner runs. */
export interface JobRules {
  readonly ports: Pick<Ports, "clock" | "log">;
  /** Logged with the error of a search or a job. */
  readonly failure: string;
  /** How many jobs run at once, over all organizations and of one. A runner without it starts no jobs. */
  readonly slots?: { readonly all: number; readonly ofOne: number };
  /**
   * Starts the jobs that are due, or does a step of each. Returns when to search again, in ms: 0 for at once,
   * Infinity for not before a wake.
   */
  search(runner: JobRunner): Promise<number>;
}

/**
 * Runs jobs whose rows are in the store. One search at a time finds those that are due: after each wake, at the
 * time that the last search returned, after each job, and one second after an error. A new process needs one wake
 * to find the jobs that an earlier one left. Claims in the store keep two instances from doing the same job.
 */
export class JobRunner {
  readonly #tasks: Background;
  /** The organization of each job that runs, by the job's name. */
  readonly #running = new Map<string, string>();
  #searching = false;
  #again = false;
  #stopped = false;
  #timer: { readonly atMs: number; readonly cancel: Cancel } | null = null;

  constructor(private readonly rules: JobRules) {
    this.#tasks = new Background((_, error) => this.tryLater(error));
  }

  /** True after `stop`: a search must not begin anything more. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Searches now, or once more after the current search. Never fails. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    if (this.#searching) return;
    this.#searching = true;
    this.#tasks.run("search", () => this.#search());
  }

  /** Searches at `atMs` at the latest. */
  wakeAt(atMs: number): void {
    const { clock } = this.rules.ports;
    const waitMs = atMs - clock.now();
    if (waitMs <= 0) return this.wake();
    if (this.#stopped || atMs >= (this.#timer?.atMs ?? Infinity)) return;
    this.#timer?.cancel();
    const cancel = clock.after(waitMs, () => {
      this.#timer = null;
      this.wake();
    });
    this.#timer = { atMs, cancel };
  }

  /** True while this job runs. */
  isRunning(name: string): boolean {
    return this.#running.has(name);
  }

  /** True when no organization may start another job. */
  get isFull(): boolean {
    return this.#stopped || this.#running.size >= (this.rules.slots?.all ?? 0);
  }

  /** True when this organization may start another job. */
  hasSlot(org: string): boolean {
    const own = [...this.#running.values()].filter((each) => each === org);
    return !this.isFull && own.length < this.rules.slots!.ofOne;
  }

  /** Starts a job unless it runs or there is no free slot; returns whether it did. */
  start(name: string, { org }: { readonly org: string }, job: () => Promise<unknown>): boolean {
    if (this.isRunning(name) || !this.hasSlot(org)) return false;
    this.#running.set(name, org);
    this.#tasks.run(name, async () => {
      await job().finally(() => this.#running.delete(name));
      this.wake();
    });
    return true;
  }

  /** Logs an error and searches again later: a wake now would loop while the store fails. */
  tryLater(error: unknown): void {
    const { clock, log } = this.rules.ports;
    log.error(this.rules.failure, { error: error instanceof Error ? error.stack : String(error) });
    this.wakeAt(clock.now() + RETRY_MS);
  }

  /** Resolves when no search and no job is running. */
  idle(): Promise<void> {
    return this.#tasks.idle();
  }

  /** Starts nothing more and waits for what runs. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#timer?.cancel();
    await this.idle();
  }

  async #search(): Promise<void> {
    await Promise.resolve();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        this.wakeAt(await this.rules.search(this));
      } catch (error) {
        this.tryLater(error);
      }
    }
    this.#searching = false;
  }
}

/**
 * A search that does one step of each job in turn: neither a long nor a failing one delays the others. A job whose step
 * failed rests for RETRY_MS, however often the search runs for others.
 */
export function stepEach<T>(
  { clock }: Pick<Ports, "clock">,
  unfinished: () => AsyncIterable<T>,
  nameOf: (job: T) => string,
  step: (job: T) => Promise<void>,
): JobRules["search"] {
  const resting = new Set<string>();
  return async (runner) => {
    let more = false;
    for await (const job of unfinished()) {
      if (runner.stopped) break;
      const name = nameOf(job);
      if (resting.has(name)) continue;
      try {
        await step(job);
        more = true;
      } catch (error) {
        resting.add(name);
        clock.after(RETRY_MS, () => void resting.delete(name));
        runner.tryLater(error);
      }
    }
    return more ? 0 : Infinity;
  };
}
