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
    for (const { keyText } of checks) touched.add(keyText);
    for (const { kind, keyText } of mutations) (kind === "sum" ? summed : touched).add(keyText);
  }
  return { touched, summed };
}

/** True when the order of the two matters. Sums of one key commute. */
export const conflicts = (
  { checks, mutations }: Change,
  { touched, summed }: CommitKeys,
): boolean =>
  checks.some(({ keyText }) => touched.has(keyText) || summed.has(keyText)) ||
  mutations.some(({ kind, keyText }) =>
    touched.has(keyText) || kind !== "sum" && summed.has(keyText)
  );
