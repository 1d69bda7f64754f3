import { MAX_COMPARED_CHARS, MAX_EXPANDED_CHARS, MAX_PARSED_CHARS, STEP_BUDGET } from "./limits.ts";

/** Thrown inside the walk, and the comparison with a policy, when the work allowed for one inspection is spent. */
export class BudgetSpent extends Error {
  override readonly name = "BudgetSpent";
}

/** What is left of the work allowed for one inspection. */
export interface Budget extends Comparing {
  steps: number;
  chars: number;
  parsed: number;
}

/** What is left of the comparing that is allowed for one inspection, or for one policy. */
export interface Comparing {
  compared: number;
}

/** The whole work allowed for one inspection. */
export function fullBudget(): Budget {
  return {
    steps: STEP_BUDGET,
    chars: MAX_EXPANDED_CHARS,
    parsed: MAX_PARSED_CHARS,
    compared: MAX_COMPARED_CHARS,
  };
}

/** The costs of a step and of characters, relative to a character of ordinary script. */
const STEP_COST = 6;
const PARSED_A_CHAR = 4;
const EXPANDED_A_CHAR = 32;
const COMPARED_A_CHAR = 128;

/** About how much work was taken from a budget, as characters of ordinary script. */
export const workOf = ({ steps, parsed, chars, compared }: Budget): number =>
  (STEP_BUDGET - steps) * STEP_COST + (MAX_PARSED_CHARS - parsed) / PARSED_A_CHAR +
  (MAX_EXPANDED_CHARS - chars) / EXPANDED_A_CHAR + comparingWork({ compared });

/** The same for comparing alone. */
export const comparingWork = ({ compared }: Comparing): number =>
  (MAX_COMPARED_CHARS - compared) / COMPARED_A_CHAR;

/** Counts one step and the characters that it made. @throws {BudgetSpent} */
export function spend(budget: Budget, chars: number): void {
  budget.steps--;
  budget.chars -= chars;
  if (budget.steps < 0 || budget.chars < 0) throw new BudgetSpent();
}

/** Counts text that is about to be parsed. @throws {BudgetSpent} */
export function spendParse(budget: Budget, chars: number): void {
  budget.parsed -= chars;
  if (budget.parsed < 0) throw new BudgetSpent();
}

/** Counts characters that are about to be compared. @throws {BudgetSpent} */
export function spendCompare(comparing: Comparing, chars: number): void {
  comparing.compared -= chars;
  if (comparing.compared < 0) throw new BudgetSpent();
}
