import { createHash, timingSafeEqual } from "node:crypto";

const BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

/** Compares two secrets in a time that depends on neither their difference nor their lengths. */
export function constantTimeEqual(a: string, b: string): boolean {
  const same = timingSafeEqual(sha256(a), sha256(b));
  // Different unpaired surrogates have the same UTF-8 bytes; this runs only after equal digests.
  return same && a === b;
}

/** Bytes as one big-endian number in base62, padded to a length that depends only on their count. */
export function encodeBase62(bytes: Uint8Array): string {
  let rest = 0n;
  for (const byte of bytes) rest = (rest << 8n) | BigInt(byte);
  let text = "";
  for (let left = base62Length(bytes.length); left > 0; left--) {
    text = BASE62.charAt(Number(rest % 62n)) + text;
    rest /= 62n;
  }
  return text;
}

/** A 32-bit unsigned number as 6 characters of base62. */
export function encodeUint32Base62(value: number): string {
  let rest = value;
  let text = "";
  for (let left = 6; left > 0; left--) {
    text = BASE62.charAt(rest % 62) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** The characters of base62 for any value of this many bytes: 43 for 32. */
export function base62Length(bytes: number): number {
  return Math.ceil((bytes * 8) / Math.log2(62));
}

function sha256(text: string): Uint8Array {
  return createHash("sha256").update(text).digest();
}

/** The largest distance at which a word still counts as a misspelling. */
const WRONG_LETTERS_MAX = 2;

/** The known word that a misspelt one probably means. */
export function nearestOf(written: string, known: readonly string[]): string | undefined {
  const ranked = known.map((word) => ({ word, wrong: lettersBetween(written, word) }))
    .sort((a, b) => a.wrong - b.wrong);
  return ranked.find(({ wrong }) => wrong <= WRONG_LETTERS_MAX)?.word;
}

/** The Levenshtein distance between two texts. */
function lettersBetween(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, at) => at);
  for (const [i, letter] of [...one].entries()) {
    const next = [i + 1];
    for (const [j, wanted] of [...other].entries()) {
      const changed = row[j]! + (letter === wanted ? 0 : 1);
      next.push(Math.min(changed, row[j + 1]! + 1, next[j]! + 1));
    }
    row = next;
  }
  return row.at(-1)!;
}
