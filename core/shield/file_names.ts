/** The last parts of the paths of files that are known, made to say quickly that a word names none of them. */
export class FileNames {
  readonly #names = new Set<string>();
  /** By the class of its last character, a bit for each class of the one before, of every name. */
  readonly #ends: number[] = Array(32).fill(0);

  constructor(paths: Iterable<string>) {
    // A path that ends in `.` or `/` may name any of them.
    this.#ends[classAt(".", 0)] = ANY;
    this.#ends[classAt("/", 0)] = ANY;
    for (const path of paths) this.add(path);
  }

  add(path: string): void {
    const name = lastPart(path);
    this.#names.add(name);
    // Before a name of one character anything may stand.
    this.#ends[classAt(path, path.length - 1)]! |= name.length < 2 ? ANY : bitBeforeLast(path);
  }

  /** Whether the word, or what stands behind a mark in it, can name one of the files. */
  mayEnd(word: string): boolean {
    return (this.#ends[classAt(word, word.length - 1)]! & bitBeforeLast(word)) !== 0;
  }

  /** Whether the path can name one of the files. */
  mayHave(path: string): boolean {
    return this.mayEnd(path) && (this.#names.has(lastPart(path)) || isTangled(path));
  }
}

const ANY = -1;

const classAt = (word: string, at: number): number => word.charCodeAt(at) & 31;

const bitBeforeLast = (word: string): number => 1 << classAt(word, word.length - 2);

const lastPart = (path: string): string => path.slice(path.lastIndexOf("/") + 1);

/** `a/.`, `a/` and `a/x/..` end otherwise than their path does. */
function isTangled(path: string): boolean {
  return path.endsWith("/") || path.endsWith("/.") || path.endsWith("/..");
}
