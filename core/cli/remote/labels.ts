import { UsageError } from "../arguments.ts";

/** Labels from `key=value`. @throws {UsageError} */
export function labelsFrom(words: readonly string[]): Record<string, string> {
  const labels = new Map<string, string>();
  for (const [key, value] of words.map(labelFrom)) {
    if (labels.has(key)) throw new UsageError(`The label ${JSON.stringify(key)} is given twice.`);
    labels.set(key, value);
  }
  return Object.fromEntries(labels);
}

/** Changes of labels from `key=value`, which sets one, and `key-`, which removes one. @throws {UsageError} */
export const labelChanges = (words: readonly string[]): Record<string, string | null> =>
  Object.fromEntries(
    words.map((word) =>
      /^[^=]+-$/.test(word) ? [word.slice(0, -1), null] as const : labelFrom(word)
    ),
  );

function labelFrom(word: string): [key: string, value: string] {
  const cut = word.indexOf("=");
  if (cut > 0) return [word.slice(0, cut), word.slice(cut + 1)];
  throw new UsageError(`The label ${JSON.stringify(word)} is not of the form key=value.`);
}
