/** The names of all known files, built to reject quickly a word that names none of them. */
export class FileNames {
  /** The path of each name; null for a name that several paths have. */
  readonly #paths = new Map<string, string | null>();
  /**
   * A bit for each class of last characters; a path that ends in `.` or `/` may name any of them. Without it, scripts
   * take 10 % longer.
   */
  #ends = bitOf(".") | bitOf("/");

  constructor(paths: Iterable<string>) {
    for (const path of paths) this.add(path);
  }

  add(path: string): void {
    const name = lastPart(path);
    const held = this.#paths.get(name);
    if (held === undefined) this.#paths.set(name, path);
    else if (held !== path) this.#paths.set(name, null);
    this.#ends |= bitOf(path);
  }

  /** Whether this path is known, and is the only one of its name. */
  isOnly(path: string): boolean {
    return this.#paths.get(lastPart(path)) === path;
  }

  /** Whether the word, or what stands behind a mark in it, can name one of the files. */
  mayEnd(word: string): boolean {
    return (this.#ends & bitOf(word)) !== 0;
  }

  /** Whether the path can name one of the files. */
  mayHave(path: string): boolean {
    return this.mayEnd(path) && (this.#paths.has(lastPart(path)) || isTangled(path));
  }
}

function bitOf(word: string): number {
  return 1 << (word.charCodeAt(word.length - 1) & 31);
}

const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** `a/.`, `a/` and `a/x/..` end otherwise than their path does. */
function isTangled(path: string): boolean {
  return path.endsWith("/") || path.endsWith("/.") || path.endsWith("/..");
}
