import { perhaps, UNKNOWN } from "../model.ts";

/** The value of a name, and its other value if the assignment did not run. */
interface Entry<V> {
  readonly value: V;
  readonly other: V | undefined;
  /** How many programs deep it was set; a program knows for certain what was set in it. */
  readonly depth: number;
}

/** The state of a name at one time, to be restored later. */
export type Kept<V> = Entry<V> | undefined;

const DOUBTFUL = -1;
/** Exported names are known this many programs deeper. */
const EXPORTED = 1_000;

/**
 * Named values, copied on the first write after a fork. A value is doubtful where its assignment may not have run,
 * or where another program may not have inherited it.
 */
export class Names<V> {
  #map: Map<string, Entry<V>>;
  #own: boolean;
  /** How often a doubtful value was asked for, here and in all copies. */
  readonly #doubts: { count: number };
  #depth = 0;
  #certainOnly = false;
  /** The earlier state of the names that each open branch changed, the outermost first. */
  #branches: (Map<string, Kept<V>> | null)[] | null = null;

  constructor(map: Map<string, Entry<V>> = new Map(), own = true, doubts = { count: 0 }) {
    this.#map = map;
    this.#own = own;
    this.#doubts = doubts;
  }

  get doubts(): number {
    return this.#doubts.count;
  }

  get isCertain(): boolean {
    return this.#certainOnly;
  }

  get size(): number {
    return this.#map.size;
  }

  get(name: string): V | undefined {
    const entry = this.#map.size === 0 ? undefined : this.#map.get(name);
    if (entry === undefined || entry.depth >= this.#depth) return entry?.value;
    if (this.#certainOnly) return entry.other;
    this.#doubts.count++;
    return entry.value;
  }

  isDoubtful(name: string): boolean {
    const entry = this.#map.get(name);
    return entry !== undefined && entry.depth < this.#depth;
  }

  /** The other value of a doubtful name; undefined where it may be unset. */
  otherOf(name: string): V | undefined {
    return this.#map.get(name)?.other;
  }

  set(name: string, value: V): void {
    this.restore(name, { value, other: undefined, depth: this.#depth });
  }

  /** Exports the name to programs that are started from here. */
  export(name: string): void {
    const entry = this.#map.get(name);
    if (entry === undefined || entry.depth < this.#depth) return;
    this.restore(name, { ...entry, depth: this.#depth + EXPORTED });
  }

  /** Makes a name doubtful: it may also have the other value, or be unset. */
  doubt(name: string, other?: V): void {
    const entry = this.#map.get(name);
    if (entry !== undefined) this.restore(name, { value: entry.value, other, depth: DOUBTFUL });
  }

  /** The present state of a name, for `restore`. */
  keep(name: string): Kept<V> {
    return this.#map.get(name);
  }

  restore(name: string, entry: Kept<V>): void {
    if (!this.#own) this.#map = new Map(this.#map);
    this.#own = true;
    this.#note(name, this.#map.get(name));
    if (entry === undefined) this.#map.delete(name);
    else this.#map.set(name, entry);
  }

  /** Remembers the state of a name at the beginning of the innermost branch. */
  #note(name: string, before: Kept<V>): void {
    if (this.#branches === null || this.#branches.length === 0) return;
    const branch = this.#branches[this.#branches.length - 1] ??= new Map();
    if (!branch.has(name)) branch.set(name, before);
  }

  /** Begins a branch that may not run. */
  openBranch(): void {
    (this.#branches ??= []).push(null);
  }

  /** Ends a branch: names that it changed become doubtful, unless `settle` gives them a value. */
  closeBranch(settle: (name: string, before: V | undefined, now: V) => V | undefined): void {
    for (const [name, before] of this.#branches?.pop() ?? []) {
      this.#note(name, before);
      const now = this.#map.get(name);
      if (now === undefined || now === before) continue;
      const settled = now.value === before?.value
        ? now.value
        : settle(name, before?.value, now.value);
      if (settled === undefined) this.doubt(name, before?.value ?? now.other);
      else if (settled === before?.value) this.restore(name, before);
      else this.set(name, settled);
    }
  }

  /** A copy for an inner place; the outer one must not be set while the copy is in use. */
  fork(): Names<V> {
    const copy = new Names(this.#map, false, this.#doubts);
    copy.#depth = this.#depth;
    copy.#certainOnly = this.#certainOnly;
    return copy;
  }

  /** A copy in which doubtful names have their other value; later changes do not affect it. */
  forkCertain(): Names<V> {
    this.#own = false;
    const copy = this.fork();
    copy.#certainOnly = true;
    copy.openBranch();
    return copy;
  }

  /** Makes names doubtful that the copy without doubts has set to something else. */
  doubtWhere(copy: Names<V>, isSame: (one: V, other: V) => boolean): void {
    for (const name of copy.#branches?.[0]?.keys() ?? []) {
      const value = this.#map.get(name)?.value;
      const other = copy.#map.get(name)?.value;
      if (value === undefined) {
        if (other !== undefined) {
          this.restore(name, { value: other, other: undefined, depth: DOUBTFUL });
        }
      } else if (other === undefined || !isSame(value, other)) this.doubt(name, other);
    }
  }

  /** A copy for another program, which is given the exported names, or nothing. */
  forkProgram(givesExported: boolean): Names<V> {
    const copy = this.fork();
    copy.#depth += givesExported ? 1 : 2 * EXPORTED;
    return copy;
  }
}

/** Variables that are set, and given to other programs, before the line begins. */
const AMBIENT = new Set(["HOME", "TMPDIR", "PWD", "OLDPWD", "TMP", "TEMP", "IFS", "PATH"]);

/** What a variable holds: an array is known by its words too. */
export interface Value {
  readonly text: string;
  readonly words: readonly string[] | null;
}

/** An array; its text is joined when somebody reads it, because elements may be set one by one. */
class List implements Value {
  readonly words: readonly string[];
  #text: string | null = null;

  constructor(words: readonly string[]) {
    this.words = words;
  }

  get text(): string {
    return this.#text ??= this.words.join(" ");
  }
}

/** Variables: an array is known by its words too, until its name is set as a whole. */
export class Values {
  readonly #names: Names<Value>;

  constructor(names = new Names<Value>()) {
    this.#names = names;
  }

  get doubts(): number {
    return this.#names.doubts;
  }

  get isCertain(): boolean {
    return this.#names.isCertain;
  }

  get size(): number {
    return this.#names.size;
  }

  get(name: string): string | undefined {
    return this.#names.get(name)?.text;
  }

  list(name: string): readonly string[] | null {
    return this.#names.get(name)?.words ?? null;
  }

  isDoubtful(name: string): boolean {
    return this.#names.isDoubtful(name);
  }

  set(name: string, text: string): void {
    this.#set(name, { text, words: null });
  }

  setList(name: string, words: readonly string[]): void {
    this.#set(name, new List(words));
  }

  #set(name: string, value: Value): void {
    this.#names.set(name, value);
    if (AMBIENT.has(name)) this.#names.export(name);
  }

  /** Exports the variable to programs that are started from here. */
  export(name: string): void {
    this.#names.export(name);
  }

  /** Makes a variable doubtful: it may be unset. */
  doubt(name: string): void {
    this.#names.doubt(name);
  }

  keep(name: string): Kept<Value> {
    return this.#names.keep(name);
  }

  restore(name: string, kept: Kept<Value>): void {
    this.#names.restore(name, kept);
  }

  openBranch(): void {
    this.#names.openBranch();
  }

  closeBranch(): void {
    this.#names.closeBranch(settle);
  }

  doubtWhere(certain: Values): void {
    this.#names.doubtWhere(certain.#names, isSame);
  }

  fork(): Values {
    return new Values(this.#names.fork());
  }

  forkCertain(): Values {
    return new Values(this.#names.forkCertain());
  }

  forkProgram(givesExported: boolean): Values {
    return new Values(this.#names.forkProgram(givesExported));
  }
}

function isSame(one: Value, other: Value): boolean {
  return one.text === other.text && (one.words === null) === (other.words === null) &&
    (one.words?.every((word, i) => word === other.words?.[i]) ?? true);
}

/** An array that a branch may have changed keeps both contents; any other such value is unknown. */
function settle(name: string, before: Value | undefined, now: Value): Value | undefined {
  if (before === undefined) return AMBIENT.has(name) ? { text: UNKNOWN, words: null } : undefined;
  if (isSame(before, now)) return before;
  const isArray = before.words !== null || now.words !== null;
  return { text: isArray ? perhaps(`${before.text} ${now.text}`) : UNKNOWN, words: null };
}
