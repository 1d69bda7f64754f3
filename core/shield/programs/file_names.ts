/** The names of all known files, built to reject quickly a word that names none of them. */
export class FileNames {
  readonly #names = new Set<string>();
  /** A bit for each class of last characters; a path that ends in `.` or `/` may name any of them. */
  #ends = bitOf(".") | bitOf("/");
  /** A bit for each sum of the last few characters. */
  readonly #sums: number[] = Array(32).fill(0);

  constructor(paths: Iterable<string>) {
    for (const path of paths) this.add(path);
  }

  add(path: string): void {
    this.#names.add(lastPart(path));
    this.#ends |= bitOf(path);
    const sum = sumOfEnd(path);
    this.#sums[sum >> 5]! |= 1 << (sum & 31);
  }

  /** Whether the word, or what stands behind a mark in it, can name one of the files. */
  mayEnd(word: string): boolean {
    if ((this.#ends & bitOf(word)) === 0) return false;
    const last = word.charCodeAt(word.length - 1);
    if (last === DOT || last === SLASH || last === EQUALS || last === AT) return true;
    const sum = sumOfEnd(word);
    return (this.#sums[sum >> 5]! & (1 << (sum & 31))) !== 0;
  }

  /** Whether the path can name one of the files. */
  mayHave(path: string): boolean {
    return this.mayEnd(path) && (this.#names.has(lastPart(path)) || isTangled(path));
  }
}

const DOT = 0x2e;
const SLASH = 0x2f;
const EQUALS = 0x3d;
const AT = 0x40;
/** Longer sums distinguish little more. */
const MAX_SUMMED = 8;

/** A sum below 1,024 of the last character and of those before it, as far as the last mark. */
function sumOfEnd(word: string): number {
  let sum = word.charCodeAt(word.length - 1) & 1023;
  const from = Math.max(0, word.length - MAX_SUMMED);
  for (let i = word.length - 2; i >= from; i--) {
    const c = word.charCodeAt(i);
    if (c === SLASH || c === EQUALS || c === AT) break;
    sum = (sum * 31 + c) & 1023;
  }
  return sum;
}

function bitOf(word: string): number {
  return 1 << (word.charCodeAt(word.length - 1) & 31);
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** `a/.`, `a/` and `a/x/..` end otherwise than their path does. */
function isTangled(path: string): boolean {
  return path.endsWith("/") || path.endsWith("/.") || path.endsWith("/..");
}
