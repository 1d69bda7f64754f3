import { setImmediate } from "node:timers";

/** A commit with this many callers does not wait for more. */
const CALLERS_ENOUGH = 16;
/** After this many commits of a single caller, the next one is not expected to have company. */
const SINGLE_COMMITS_MAX = 8;
/** How many turns of the event loop a commit may wait for its callers. */
const TURNS_MAX = 4;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Decides how long a group commit waits for more callers. */
export class CommitDelay {
  /** How many commits in a row held a single caller. */
  #singles = 0;

  /** `queued` returns how many callers wait. */
  constructor(private readonly queued: () => number) {}

  /**
   * Waits while each turn of the event loop brings more callers and fewer than `enough` are queued: waiting
   * then costs less than the commit that it saves. A single caller waits for one turn, or not at all after
   * many commits of a single caller.
   */
  async wait(enough = CALLERS_ENOUGH): Promise<void> {
    if (this.#singles >= SINGLE_COMMITS_MAX && this.queued() === 1) return;
    for (let turn = 0; turn < TURNS_MAX && this.queued() < enough; turn++) {
      const before = this.queued();
      await nextTurn();
      if (this.queued() === before) return;
    }
  }

  /** Records how many callers a commit held. */
  committed(callers: number): void {
    this.#singles = callers === 1 ? this.#singles + 1 : 0;
  }
}
