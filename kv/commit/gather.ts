import { setImmediate } from "node:timers";

/** So many are enough for a commit that does not wait for more. */
const CALLERS_ENOUGH = 16;
/** After so many commits of one caller nobody is expected to join the next. */
const ALONE_ENOUGH = 8;
/** How many turns of the event loop a commit may wait for its callers. */
const TURNS_MAX = 4;
const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** How long a commit waits for its callers. */
export class Gathering {
  /** How many commits one after the other held a single caller. */
  #alone = 0;

  /** `waiting` tells how many there are. */
  constructor(private readonly waiting: () => number) {}

  /**
   * Lets those join who are about to ask: while more come with each turn of the event loop, and fewer wait
   * than are enough, waiting costs less than the commit that it saves. A lone caller waits for one turn, or
   * for none where it has been alone for long.
   */
  async gather(enough = CALLERS_ENOUGH): Promise<void> {
    if (this.#alone >= ALONE_ENOUGH && this.waiting() === 1) return;
    for (let turn = 0; turn < TURNS_MAX && this.waiting() < enough; turn++) {
      const before = this.waiting();
      await nextTurn();
      if (this.waiting() === before) return;
    }
  }

  /** A commit holds so many. */
  took(callers: number): void {
    this.#alone = callers === 1 ? this.#alone + 1 : 0;
  }
}
