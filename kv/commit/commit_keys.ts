import type { Change } from "../store/change.ts";

/** The keys of a commit in flight. */
export interface CommitKeys {
  /** Keys that it checks, sets or deletes. */
  readonly touched: ReadonlySet<string>;
  /** Keys that it adds to. */
  readonly summed: ReadonlySet<string>;
}

/** The keys of a commit of these callers. */
export function keysOf(callers: readonly { readonly change: Change }[]): CommitKeys {
  const touched = new Set<string>(), summed = new Set<string>();
  for (const { change: { checks, mutations } } of callers) {
    for (const { slot } of checks) touched.add(slot);
    for (const { kind, slot } of mutations) (kind === "sum" ? summed : touched).add(slot);
  }
  return { touched, summed };
}

/** True when the order of the two matters. Sums of one key commute. */
export const conflicts = (
  { checks, mutations }: Change,
  { touched, summed }: CommitKeys,
): boolean =>
  checks.some(({ slot }) => touched.has(slot) || summed.has(slot)) ||
  mutations.some(({ kind, slot }) => touched.has(slot) || kind !== "sum" && summed.has(slot));
