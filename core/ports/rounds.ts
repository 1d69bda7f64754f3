import type { Cancel, Clock } from "./interfaces.ts";

const RETRY_MS = 1_000;

/** The work of a round and the handling of its errors. */
export interface RoundRules {
  readonly clock: () => Clock;
  /** One round. Returns whether there is more to do. */
  round(rounds: Rounds): Promise<boolean>;
  complain(error: unknown): void;
}

/** Runs rounds one at a time: another after each wake, and one second after an error. */
export class Rounds {
  #running: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #retry: Cancel | null = null;

  constructor(private readonly rules: RoundRules) {}

  /** True after `stop`: a round must not begin anything more. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** Starts a round, or another one after the current. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Resolves when no round is running. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Begins nothing more and waits for the current round. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.();
    await this.idle();
  }

  /** Reports a partial failure of a round and schedules another one. */
  tryLater(error: unknown): void {
    this.rules.complain(error);
    if (this.#stopped) return;
    this.#retry ??= this.rules.clock().after(RETRY_MS, () => {
      this.#retry = null;
      this.wake();
    });
  }

  async #run(): Promise<void> {
    await Promise.resolve();
    while (this.#again && !this.#stopped) {
      this.#again = false;
      try {
        if (await this.rules.round(this)) this.#again = true;
      } catch (error) {
        this.tryLater(error);
      }
    }
    this.#running = null;
  }
}
