import { MAX_EXPANDED_CHARS, MAX_PARSED_CHARS, STEP_BUDGET } from "./limits.ts";

/** Thrown inside the walk when the work allowed for one inspection is spent. */
export class BudgetSpent extends Error {
  override readonly name = "BudgetSpent";
}

/** What is left of the work allowed for one inspection. */
export interface Budget {
  steps: number;
  chars: number;
  parsed: number;
}

/** The whole work allowed for one inspection. */
export function fullBudget(): Budget {
  return { steps: STEP_BUDGET, chars: MAX_EXPANDED_CHARS, parsed: MAX_PARSED_CHARS };
}

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
