/** What verification reads from one row of an export. */
export interface Line {
  /** The line number in the file, from 1. */
  readonly at: number;
  /** The number that it claims; null when it is not in the format of a row. */
  seq: number | null;
  /** The hash that it claims, base64. */
  readonly claimed: string;
  /** The hash of its content, base64. */
  readonly content: string | null;
  /** The omitted rows before it: those after this number, and the hashes that stand for them. */
  readonly before: { readonly after: number; readonly hashes: readonly string[] } | null;
  /** On every 256th row: the hash of it and the 255 rows before it. */
  readonly tile: string | null;
}

/** The first fault of an export. */
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
  /** The number of the affected row, or of the first one. */
  readonly first: number;
  /** The last affected row, or the one swapped with the first; null when unknown. */
  readonly last: number | null;
  /** The line in the file. */
  readonly line: number;
  readonly why?: string;
}

/** The first wrong line, the number expected there, and the rows after it. */
export interface Wrong {
  readonly expected: number;
  readonly line: Line;
  /** At most two rows after it. */
  readonly next: readonly Line[];
  /** Over all later rows: whether one has the expected number or this row's, and which row it replaced. */
  readonly later: {
    readonly expected: boolean;
    readonly number: boolean;
    readonly owner: number | null;
  };
  /** The rows that the signed checkpoint covers; null when it cannot be read. */
  readonly size: number | null;
  /** False when the last line of the file is incomplete. */
  readonly whole: boolean;
}

/** Classifies what happened to the expected row. The result is correct for any single edit. */
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

/** The number fits: the row was altered, or another row was inserted before it. */
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
  // The later rows were renumbered, and their last number is missing.
  const gone = n1 === undefined ? size === expected + 1 : n1.seq === expected + 2;
  return found(gone ? "missing" : "altered", number);
}

/** The number differs: rows were removed, duplicated or swapped, or only the number was changed. */
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
