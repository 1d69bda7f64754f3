import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { findFirst, type Finding, type Line } from "./findings.ts";
import { GrowingTree, sameHash, subtreesOf } from "./merkle.ts";
import {
  keyText,
  type NoteKey,
  readKey,
  readStatement,
  type Statement,
  verifiesNote,
} from "./note.ts";

/** What a check of an export says. */
export interface Verdict {
  /** The first thing that is wrong, or null. */
  readonly finding: Finding | null;
  readonly rows: number;
  /** What the export's checkpoint says, when it can be read. */
  readonly statement: Statement | null;
  /** How the export stands to a checkpoint that was given besides. */
  readonly witness: "none" | "consistent" | "not comparable";
  /** True when no key was given, so that only the file itself says who signed it. */
  readonly keyFromFile: boolean;
}

export interface VerifyOptions {
  readonly key?: NoteKey | undefined;
  /** The note of a checkpoint that is kept elsewhere. */
  readonly checkpoint?: string | undefined;
}

/** A line of an export as it stands in the file: its bytes, each as one character (latin1). */
export interface ExportCheck {
  line(text: string): void;
  /** The file has ended; the last line had its line feed or not. */
  end(whole: boolean): Verdict;
}

const ROW =
  /^\{"seq":(\d{1,15}),"leaf_hash":"([A-Za-z0-9+/]{43}=)",(?:"before":\{"after":(\d{1,15}),"hashes":\[("[^\]]*")\]\},)?(?:"tile_hash":"([A-Za-z0-9+/]{43}=)",)?/;
const JSON_START = '{"events":[';
const TILE = 256;
/** The hash of the numbers is fed with so many of them at a time. */
const NUMBERED_CHARS_MAX = 8_192;
/** Lines after the first wrong one that are kept, to tell what happened to it. */
const NEXT_KEPT = 2;

/** Begins the check of an export; it keeps as little as the way to the tree's root. */
export function checkExport({ key, checkpoint }: VerifyOptions): ExportCheck {
  const witness = checkpoint === undefined ? null : readStatement(checkpoint);
  const tree = new GrowingTree();
  const numbers = createHash("sha256");
  let lines = 0, rows = 0, json = false, comma: boolean | null = null;
  let last = 0, firstGap: number | null = null, ending: string | null = null;
  let numbered = "";
  let witnessRoot: Uint8Array | null = null;
  let wrong: { expected: number; line: Line } | null = null;
  let block: Finding | null = null;
  const next: Line[] = [];
  let later = { expected: false, number: false, owner: null as number | null };

  function look() {
    if (witness !== null && tree.size === witness.size) witnessRoot = tree.root();
  }

  /** Puts the rows that are not in the export into the tree; false when their hashes do not fit. */
  function skip(to: number, hashes: readonly string[]): boolean {
    const subtrees = [...subtreesOf(tree.size, to)];
    if (subtrees.length !== hashes.length) return false;
    subtrees.forEach(({ level }, at) => {
      tree.add(Uint8Array.from(Buffer.from(hashes[at]!, "base64")), level);
      look();
    });
    return true;
  }

  function take(line: Line): boolean {
    const { seq, claimed, content, before, tile } = line;
    if (seq === null || content !== claimed) return false;
    if (before === null ? seq !== last + 1 : before.after !== last || seq < last + 2) return false;
    if (before !== null) {
      if (!skip(seq - 1, before.hashes)) return false;
      firstGap = Math.max(firstGap ?? 0, seq - 1);
    }
    // It is what the row hashes to, so it is base64 of 32 bytes.
    tree.add(Uint8Array.fromBase64(claimed));
    look();
    if ((seq % TILE === 0) !== (tile !== null)) return false;
    if (tile !== null && tile !== Buffer.from(tree.tile!).toString("base64")) {
      block ??= { kind: "altered", first: seq - TILE + 1, last: seq, line: line.at };
    }
    numbered += `${seq}\n`;
    if (numbered.length > NUMBERED_CHARS_MAX) count();
    last = seq;
    rows++;
    return true;
  }

  function count() {
    numbers.update(numbered);
    numbered = "";
  }

  function row(text: string) {
    const line = readLine(text, lines);
    // A row of JSON has a comma behind it unless it is the last one.
    const loose = json && comma === false;
    comma = text.endsWith(",");
    if (!json && comma) line.seq = null;
    if (wrong !== null) return follow(line);
    if (!loose && take(line)) return;
    wrong = { expected: last + 1, line: loose ? { ...line, seq: null } : line };
  }

  /** Looks at what comes after the first wrong line, to say what happened. */
  function follow(line: Line) {
    if (next.length < NEXT_KEPT) next.push(line);
    const { expected, line: { seq, content, claimed } } = wrong!;
    later = {
      expected: later.expected || line.seq === expected,
      number: later.number || seq !== null && line.seq === seq,
      owner: later.owner ??
        (line.claimed === content && line.content === claimed ? line.seq : null),
    };
  }

  function proofFinding(statement: Statement | null): Finding | null {
    const end = ending === null ? null : readEnding(ending);
    const at = { first: last, last, line: lines };
    if (end === null || statement === null) {
      return { ...at, kind: "proof", why: "it cannot be read" };
    }
    const signer = key ?? readKey(end.public_key);
    const good = signer !== null && keyText(signer) === end.public_key &&
      verifiesNote(end.checkpoint, signer) && statement.origin === signer.name;
    if (!good) {
      return { ...at, kind: "proof", why: "its signature is not of this key" };
    }
    const { size, expired, selection } = statement;
    const missing = end.after !== last || !skip(size, end.hashes) || tree.size !== size;
    const tail = end.hashes.length > 0 ? size : 0;
    const gap = selection?.filter === "{}" ? Math.max(firstGap ?? 0, tail) : 0;
    if (end.after > last) return { kind: "missing", first: last + 1, last: end.after, line: lines };
    if (missing) return { kind: "missing", first: last + 1, last: size, line: lines };
    if (gap > expired) return { kind: "missing", first: expired + 1, last: gap, line: lines };
    if (block !== null) return block;
    if (!sameHash(tree.root(), statement.root)) {
      return { kind: "altered", first: 1, last: size, line: 1 };
    }
    count();
    const held = selection?.rows === rows && selection.digest === numbers.digest("hex");
    return held ? null : { ...at, kind: "proof", why: "it is of other rows" };
  }

  function witnessFinding(statement: Statement | null): Finding | null {
    if (checkpoint === undefined || statement === null) return null;
    const at = { first: 1, last: statement.size, line: lines };
    const end = readEnding(ending ?? "");
    const signer = key ?? readKey(end?.public_key ?? "");
    if (witness === null || signer === null || !verifiesNote(checkpoint, signer)) {
      return { ...at, kind: "proof", why: "the checkpoint that was given is not of this log" };
    }
    if (witness.size > statement.size) {
      return { kind: "rolled_back", first: statement.size + 1, last: witness.size, line: lines };
    }
    const other = witnessRoot !== null && !sameHash(witnessRoot, witness.root);
    return other ? { kind: "rewritten", first: 1, last: witness.size, line: 1 } : null;
  }

  return {
    line(text) {
      lines++;
      if (lines === 1 && text === JSON_START) json = true;
      else if (ending !== null) {
        wrong ??= { expected: last + 1, line: readLine(text, lines) };
        if (text !== "" && next.length === 0 && !isEnding(text)) next.push(readLine(text, lines));
      } else if (isEnding(text)) ending = text;
      else if (json && text === "" && rows === 0 && wrong === null) return;
      else row(text);
    },
    end(whole) {
      const said = ending === null ? null : readEnding(ending);
      const statement = said === null ? null : readStatement(said.checkpoint);
      let finding = wrong === null
        ? null
        : findFirst({ ...wrong, next, later, size: statement?.size ?? null, whole });
      if (finding === null && (ending === null || !whole)) {
        finding = { kind: "truncated", first: last + 1, last: null, line: lines };
      }
      if (finding === null && json && comma === true) {
        finding = { kind: "altered", first: last, last, line: lines - 1 };
      }
      finding ??= proofFinding(statement) ?? witnessFinding(statement);
      return {
        finding,
        rows,
        statement,
        witness: witness === null ? "none" : witnessRoot === null ? "not comparable" : "consistent",
        keyFromFile: key === undefined,
      };
    },
  };
}

const isEnding = (text: string): boolean =>
  text.startsWith('{"proof":') || text.startsWith('],"proof":');

function readLine(text: string, at: number): Line {
  const row = text.endsWith(",") ? text.slice(0, -1) : text;
  const found = ROW.exec(row);
  if (found === null) {
    return { at, seq: null, claimed: "", content: null, before: null, tile: null };
  }
  const [front, seq, claimed = "", after, hashes, tile = null] = found;
  const content = createHash("sha256").update(`\0{${row.slice(front.length)}`, "latin1")
    .digest("base64");
  const before = after === undefined
    ? null
    : { after: Number(after), hashes: hashes!.slice(1, -1).split('","') };
  // A number with a zero in front is not how it was written.
  const number = String(Number(seq)) === seq ? Number(seq) : null;
  return { at, seq: number, claimed, content, before, tile };
}

interface Ending {
  readonly checkpoint: string;
  readonly public_key: string;
  readonly after: number;
  readonly hashes: readonly string[];
}

/** The last line, when it is written just as exports write it. */
function readEnding(line: string): Ending | null {
  const text = Buffer.from(line, "latin1").toString();
  const json = text.startsWith("]") ? `{${text.slice(2)}` : text;
  try {
    const { proof } = JSON.parse(json) as { proof: Ending };
    const { checkpoint, public_key, after, hashes } = proof;
    const written = JSON.stringify({ proof: { checkpoint, public_key, after, hashes } });
    return written === json ? proof : null;
  } catch {
    return null;
  }
}
