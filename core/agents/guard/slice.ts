import { nextTurn } from "../../ports/ports.ts";
import {
  type Circumstances,
  comparingWork,
  decide,
  type Examination,
  fullBudget,
  type Policy,
} from "../../shield/shield.ts";

/** Work before other tasks get their turn, in characters of ordinary script: about 10 ms. */
const SLICE_WORK = 16 * 1024;
/** The fixed cost of a command, in the same unit. */
const COMMAND_COST = 256;

/** Counts work, and yields to other tasks after each slice of it. */
export class Slice {
  #left = SLICE_WORK;

  judge(examination: Examination, policy: Policy | null, circumstances: Circumstances) {
    const comparing = fullBudget();
    const { result } = decide(examination, policy, circumstances, comparing);
    this.#left -= COMMAND_COST + examination.work + comparingWork(comparing);
    return result;
  }

  /** Yields if the slice is used up; called after each command. */
  async ended(): Promise<void> {
    if (this.#left > 0) return;
    await nextTurn();
    this.#left = SLICE_WORK;
  }
}
