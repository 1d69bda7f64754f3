import { BudgetSpent } from "../interpreter/budget.ts";
import { MAX_EXPANDED_CHARS } from "../interpreter/limits.ts";

/** The most items that one command is given, or run for. */
const MAX_ITEMS = 1_024;

/** @throws {BudgetSpent} */
export function checkCount(items: readonly string[]): readonly string[] {
  if (items.length > MAX_ITEMS) throw new BudgetSpent();
  return items;
}

/** Counts what a template grows to when it is filled with each item. @throws {BudgetSpent} */
export function checkFilling(
  template: string,
  placeholder: string,
  items: readonly string[],
): void {
  checkCount(items);
  const places = template.split(placeholder).length - 1;
  const chars = items.reduce((sum, item) => sum + template.length + places * item.length, 0);
  if (chars > MAX_EXPANDED_CHARS) throw new BudgetSpent();
}
