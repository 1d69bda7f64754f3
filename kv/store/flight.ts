import type { Change } from "./change.ts";

/** The keys of a commit that is under way. */
export interface Flight {
  /** Those that it reads, or writes anew. */
  readonly touched: ReadonlySet<string>;
  /** Those that it adds to. */
  readonly summed: ReadonlySet<string>;
}

/** What a commit of these callers touches. */
export function flightOf(callers: readonly { readonly change: Change }[]): Flight {
  const touched = new Set<string>(), summed = new Set<string>();
  for (const { change: { checks, mutations } } of callers) {
    for (const { slot } of checks) touched.add(slot);
    for (const { kind, slot } of mutations) (kind === "sum" ? summed : touched).add(slot);
  }
  return { touched, summed };
}

/** True when it matters which of the two is first: sums alone come to the same in any order. */
export const meets = ({ checks, mutations }: Change, { touched, summed }: Flight): boolean =>
  checks.some(({ slot }) => touched.has(slot) || summed.has(slot)) ||
  mutations.some(({ kind, slot }) => touched.has(slot) || kind !== "sum" && summed.has(slot));
