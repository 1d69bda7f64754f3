/** One row of an export, as far as its check needs it. */
export interface Line {
  /** Its line in the file, from 1. */
  readonly at: number;
  /** The number that it says it has; null when it is not written as rows are. */
  seq: number | null;
  /** The hash that it says it has, base64. */
  readonly claimed: string;
  /** The hash of what it holds, base64. */
  readonly content: string | null;
  /** The rows before it that the export leaves out: those after this number, and their hashes. */
  readonly before: { readonly after: number; readonly hashes: readonly string[] } | null;
  /** Of each 256th row: the hash over it and the 255 before it. */
  readonly tile: string | null;
}

/** The first thing that is wrong with an export. */
export interface Finding {
  readonly kind:
    | "altered"
    | "missing"
    | "added"
    | "swapped"
    | "truncated"
    | "rolled_back"
    | "rewritten"
    | "forked"
    | "proof";
  /** The number of the row, or of the first of them. */
  readonly first: number;
  /** The last of them, or the one that it was swapped with; null when nobody knows. */
  readonly last: number | null;
  /** Where it shows in the file. */
  readonly line: number;
  readonly why?: string;
}

/** The first wrong line, what should have come, and what came after it. */
export interface Wrong {
  readonly expected: number;
  readonly line: Line;
  /** At most two rows after it. */
  readonly next: readonly Line[];
  /** Of all rows after it: whether one has the expected number, whether one has its number, whose place it took. */
  readonly later: {
    readonly expected: boolean;
    readonly number: boolean;
    readonly owner: number | null;
  };
  /** How many rows the signed checkpoint speaks of, when it can be read. */
  readonly size: number | null;
  /** False when the last line of the file is cut off. */
  readonly whole: boolean;
}

/** Says what happened to the row that should have come. Each answer is right for any single edit. */
export function findFirst(wrong: Wrong): Finding {
  const { expected, line: { at, seq, before } } = wrong;
  const found = (kind: Finding["kind"], first: number, last: number = first): Finding => ({
    kind,
    first,
    last,
    line: at,
  });
  if (before !== null && before.after >= expected) return found("missing", before.after);
  if (seq === null) return unreadable(wrong, found);
  return seq === expected || before !== null ? sameNumber(wrong, found) : otherNumber(wrong, found);
}

type Found = (kind: Finding["kind"], first: number, last?: number) => Finding;

function unreadable({ expected, line, next: [n1], size, whole }: Wrong, found: Found): Finding {
  if (n1?.seq === expected) return found("added", expected);
  if (n1 === undefined && (size === null || !whole)) {
    return { kind: "truncated", first: expected, last: null, line: line.at };
  }
  return n1 === undefined && expected === (size ?? 0) + 1
    ? found("added", expected)
    : found("altered", expected);
}

/** The number fits: the row holds something else, or another one was put in front of it. */
function sameNumber({ expected, line, next: [n1], later, size }: Wrong, found: Found): Finding {
  const number = line.seq ?? expected;
  if (line.content === line.claimed) return found("altered", number);
  if (n1?.seq === expected) return found("added", expected);
  if (n1 !== undefined && line.content === n1.claimed) {
    return n1.content === line.claimed
      ? found("swapped", expected, n1.seq ?? expected)
      : found("missing", expected);
  }
  if (n1 !== undefined && n1.content === line.claimed) return found("added", expected);
  if (later.owner !== null) return found("swapped", expected, later.owner);
  // What followed moved up, and the last number of its piece of the log is not there.
  const gone = n1 === undefined ? size === expected + 1 : n1.seq === expected + 2;
  return found(gone ? "missing" : "altered", number);
}

/** Another number: rows are gone, came twice, or changed places, or only the number was changed. */
function otherNumber(wrong: Wrong, found: Found): Finding {
  const { expected, line, next: [n1, n2], later, size } = wrong;
  const seq = line.seq!;
  if (n1?.seq === expected) {
    const onward = n2 === undefined ? size === expected + 1 : n2.seq === expected + 2;
    if (seq === expected + 1 && onward) return found("swapped", expected, seq);
    return found("added", seq);
  }
  if (seq < expected) {
    const renumbered = n1 === undefined ? size === expected : n1.seq === expected + 1;
    return renumbered ? found("altered", expected) : found("added", seq);
  }
  if (n1?.seq === seq + 1) return found("missing", expected, seq - 1);
  if (n1?.seq === expected + 1) {
    return later.expected ? found("swapped", expected, seq) : found("altered", expected);
  }
  if (n1 === undefined && size === expected) return found("altered", expected);
  return found("missing", expected, seq - 1);
}
