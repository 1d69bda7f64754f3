import type { Change, CoalescedLine, Mutation } from "./change.ts";

/** Adds up the sums of each counter: many callers count the same things. */
export function oneSumEach(mutations: readonly Mutation[]): Mutation[] {
  const sums = new Map<string, number>();
  const out: Mutation[] = [];
  for (const mutation of mutations) {
    const { keyText } = mutation;
    const at = sums.get(keyText);
    const sum = at === undefined ? undefined : out[at];
    if (mutation.kind === "sum" && sum?.kind === "sum") {
      out[at!] = { ...sum, n: BigInt.asUintN(64, sum.n + mutation.n) };
      continue;
    }
    // Sums before and after a set or delete of their counter stay separate.
    if (mutation.kind === "sum") sums.set(keyText, out.length);
    else if (at !== undefined) sums.delete(keyText);
    out.push(mutation);
  }
  return out;
}

/** The coalesced lines of a commit, grouped by key. */
export function oneValueEach(
  changes: Iterable<Change>,
): Iterable<CoalescedLine & { texts: string[] }> {
  const values = new Map<string, CoalescedLine & { texts: string[] }>();
  for (const { coalesced } of changes) {
    for (const line of coalesced) {
      const value = values.get(line.keyText);
      if (value === undefined) values.set(line.keyText, { ...line, texts: [line.text] });
      else value.texts.push(line.text);
    }
  }
  return values.values();
}
