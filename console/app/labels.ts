/** Labels as people type them: `env=prod tier=web`, apart by spaces, commas or lines. */
const KEY = /^[A-Za-z0-9][A-Za-z0-9._/-]{0,62}$/;
const VALUE = /^[\x20-\x7e]{0,128}$/;

/** Reads typed labels; a sentence says what is wrong with them. */
export function readLabels(
  text: string,
): { readonly labels: Readonly<Record<string, string>>; readonly problem: string | null } {
  const labels: Record<string, string> = {};
  for (const word of text.split(/[\s,]+/).filter((word) => word !== "")) {
    const cut = word.indexOf("=");
    const key = word.slice(0, cut), value = word.slice(cut + 1);
    if (cut < 1) return { labels, problem: `Write ${word} as key=value.` };
    if (!KEY.test(key)) {
      return {
        labels,
        problem: `The key ${key} must begin with a letter or digit, and may hold . _ / and - too.`,
      };
    }
    if (!VALUE.test(value)) {
      return {
        labels,
        problem: `The value of ${key} must be printable ASCII, at most 128 characters.`,
      };
    }
    if (Object.hasOwn(labels, key)) return { labels, problem: `The label ${key} is there twice.` };
    labels[key] = value;
  }
  return { labels, problem: null };
}
