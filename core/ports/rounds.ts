import type { Cancel, Clock } from "./interfaces.ts";

const RETRY_MS = 1_000;

/** What is done in rounds, and how its trouble is told. */
export interface RoundRules {
  readonly clock: () => Clock;
  /** One round; it answers whether there is more to do. */
  round(rounds: Rounds): Promise<boolean>;
  complain(error: unknown): void;
}

/** Works in rounds, one at a time: again when somebody woke it meanwhile, and a while after an error. */
export class Rounds {
  #running: Promise<void> | null = null;
  #again = false;
  #stopped = false;
  #retry: Cancel | null = null;

  constructor(private readonly rules: RoundRules) {}

  /** True once nothing more may be begun. */
  get stopped(): boolean {
    return this.#stopped;
  }

  /** There may be something to do. */
  wake(): void {
    if (this.#stopped) return;
    this.#again = true;
    this.#running ??= this.#run();
  }

  /** Resolves when nothing is under way. */
  async idle(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  /** Ends after the step under way. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#retry?.();
    await this.idle();
  }

  /** Something of the round went wrong; the rest of it goes on. */
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
