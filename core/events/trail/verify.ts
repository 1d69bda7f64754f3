import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import type { Ending } from "./export_formats.ts";
import { findFirst, type Finding, type Line } from "./findings.ts";
import {
  GrowingTree,
  type Handover,
  isSignedOnce,
  keyText,
  type NoteKey,
  readChain,
  readKey,
  readStatement,
  sameHash,
  type Statement,
  subtreesOf,
  verifiesNote,
  verifyConsistency,
} from "../../protocol/protocol.ts";
import { isEnding, isOfExport, JSON_START, readEnding, readHash, readLine } from "./read_export.ts";

/** The result of verifying an export. */
export interface Verdict {
  /** The first fault, or null. */
  readonly finding: Finding | null;
  readonly rows: number;
  /** The export's checkpoint; null when it cannot be read. */
  readonly statement: Statement | null;
  /** How the export relates to the separately kept checkpoint. */
  readonly witness: "none" | "consistent" | "not comparable";
  /** True when no key was given, so only the file itself names the signer. */
  readonly keyFromFile: boolean;
  /** The handovers to the key that signed, oldest first. */
  readonly handovers: readonly Handover[];
}

export interface VerifyOptions {
  readonly key?: NoteKey | undefined;
  /** The note of a separately kept checkpoint. */
  readonly checkpoint?: string | undefined;
  /** The consistency proof from that checkpoint, for an export without the rows in between. */
  readonly consistency?: Consistency | undefined;
}

/** The response of `/api/audit/consistency`. */
export interface Consistency {
  readonly from: number;
  readonly to: number;
  /** Hashes, base64. */
  readonly path: readonly string[];
}

/** The verification of an export, line by line. */
export interface ExportCheck {
  /** Takes a line without its line feed. It overwrites the bytes. */
  line(bytes: Buffer): void;
  /** Ends the file; `whole` is false when the last line had no line feed. */
  end(whole: boolean): Verdict;
}

const CSV_START = "seq,event_id,";
const REFUSAL_START = '{"error":{';
const COMMA = 0x2c;
const TILE = 256;
/** Row numbers are hashed in batches of this many characters. */
const NUMBERED_CHARS_MAX = 8_192;
/** Lines kept after the first wrong one, to classify it. */
const NEXT_KEPT = 2;

/** Starts verifying an export. Its memory grows only with the depth of the tree. */
export function checkExport({ key, checkpoint, consistency }: VerifyOptions): ExportCheck {
  const witness = checkpoint === undefined ? null : readStatement(checkpoint);
  const tree = new GrowingTree();
  const numbers = createHash("sha256");
  let lines = 0, rows = 0, json = false, comma: boolean | null = null;
  /** True once a line looked like one of an export: a single edit does not hide that. */
  let isExport = false;
  let last = 0, firstGap: number | null = null, blank = false;
  // The proof at the end: undefined until it was read, null when it is malformed.
  let ending: Ending | null | undefined;
  let chain: readonly Handover[] = [];
  let numbered = "";
  let witnessRoot: Uint8Array | null = null;
  let wrong: { expected: number; line: Line } | null = null;
  let block: Finding | null = null;
  const next: Line[] = [];
  let later = { expected: false, number: false, owner: null as number | null };

  function compareWithWitness() {
    if (witness !== null && tree.size === witness.size) witnessRoot = tree.root();
  }
  compareWithWitness();

  /** Adds the omitted rows to the tree; false when their hashes do not fit. */
  function addOmitted(to: number, hashes: readonly string[]): boolean {
    const subtrees = [...subtreesOf(tree.size, to)];
    const read = hashes.map(readHash);
    if (subtrees.length !== hashes.length || read.includes(null)) return false;
    subtrees.forEach(({ level }, at) => {
      tree.add(read[at]!, level);
      compareWithWitness();
    });
    return true;
  }

  function acceptRow(line: Line): boolean {
    const { seq, claimed, content, before, tile } = line;
    if (seq === null || content !== claimed) return false;
    if (before === null ? seq !== last + 1 : before.after !== last || seq < last + 2) return false;
    if (before !== null) {
      if (!addOmitted(seq - 1, before.hashes)) return false;
      firstGap = Math.max(firstGap ?? 0, seq - 1);
    }
    // It equals the hash of the content, so it is valid base64 of 32 bytes.
    tree.add(Buffer.from(claimed, "base64"));
    compareWithWitness();
    if ((seq % TILE === 0) !== (tile !== null)) return false;
    if (tile !== null && tile !== Buffer.from(tree.tile!).toString("base64")) {
      block ??= { kind: "altered", first: seq - TILE + 1, last: seq, line: line.at };
    }
    numbered += `${seq}\n`;
    if (numbered.length > NUMBERED_CHARS_MAX) hashNumbers();
    last = seq;
    rows++;
    return true;
  }

  function hashNumbers() {
    numbers.update(numbered);
    numbered = "";
  }

  function readRow(bytes: Buffer) {
    // In JSON every row but the last ends with a comma, and no row follows an empty line.
    const loose = json && comma === false || blank;
    comma = bytes.at(-1) === COMMA;
    const line = readLine(comma ? bytes.subarray(0, -1) : bytes, lines);
    if (!json && comma) line.seq = null;
    if (wrong !== null) return examineLater(line);
    if (!loose && acceptRow(line)) return;
    wrong = { expected: last + 1, line: loose ? { ...line, seq: null } : line };
  }

  /** Collects from the lines after the first wrong one what classifies it. */
  function examineLater(line: Line) {
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
    const at = { first: last, last, line: lines };
    if (!ending || statement === null) return { ...at, kind: "proof", why: "it cannot be read" };
    const read = readChain(ending.handovers ?? [], ending.public_key);
    if (read === null) {
      return { ...at, kind: "proof", why: "its key handovers are not valid" };
    }
    chain = read;
    const signer = readKey(ending.public_key);
    const vouched = [...chain.map(({ from }) => keyText(from)), ending.public_key];
    const good = signer !== null && (key === undefined || vouched.includes(keyText(key))) &&
      verifiesNote(ending.checkpoint, signer) && isSignedOnce(ending.checkpoint) &&
      statement.origin === signer.name;
    if (!good) return { ...at, kind: "proof", why: "its signature is not by this key" };
    const { size, expired, selection } = statement;
    const { after, hashes } = ending;
    const missing = after !== last || !addOmitted(size, hashes) || tree.size !== size;
    const tail = hashes.length > 0 ? size : 0;
    const gap = selection?.filter === "{}" ? Math.max(firstGap ?? 0, tail) : 0;
    if (after > last) return { kind: "missing", first: last + 1, last: after, line: lines };
    if (missing) return { kind: "missing", first: last + 1, last: size, line: lines };
    if (gap > expired) return { kind: "missing", first: expired + 1, last: gap, line: lines };
    if (block !== null) return block;
    if (!sameHash(tree.root(), statement.root)) {
      return { kind: "altered", first: 1, last: size, line: 1 };
    }
    hashNumbers();
    const held = selection?.rows === rows && selection.digest === numbers.digest("hex");
    return held ? null : { ...at, kind: "proof", why: "it covers other rows" };
  }

  function witnessFinding(statement: Statement | null): Finding | null {
    if (checkpoint === undefined || statement === null) return null;
    const at = { first: 1, last: statement.size, line: lines };
    const signer = readKey(ending!.public_key)!;
    const former = chain.find(({ from }) => verifiesNote(checkpoint, from));
    if (
      witness === null || witness.origin !== signer.name ||
      former === undefined && !verifiesNote(checkpoint, signer)
    ) {
      return { ...at, kind: "proof", why: "the given checkpoint is not of this log" };
    }
    if (former !== undefined && witness.size > former.rows) {
      const why =
        "the given checkpoint was signed by a key after its handover, so somebody else has " +
        "that key";
      return { ...at, kind: "proof", why };
    }
    if (witness.size > statement.size) {
      return { kind: "rolled_back", first: statement.size + 1, last: witness.size, line: lines };
    }
    if (witnessRoot === null && consistency !== undefined) {
      if (!leadsTo(statement, consistency)) {
        const why = "the consistency proof does not connect the given checkpoint with the export";
        return { ...at, kind: "proof", why };
      }
      witnessRoot = witness.root;
    }
    if (witnessRoot === null || sameHash(witnessRoot, witness.root)) return null;
    // At equal sizes neither log is the older one, so the relay showed two histories.
    const kind = witness.size === statement.size ? "forked" : "rewritten";
    return { kind, first: 1, last: witness.size, line: 1 };
  }

  /** True when the export's log starts with the log of the given checkpoint. */
  function leadsTo({ size, root }: Statement, { from, to, path }: Consistency): boolean {
    const hashes = path.map(readHash);
    return from === witness!.size && to === size && !hashes.includes(null) &&
      verifyConsistency(from, to, witness!.root, root, hashes as Buffer[]);
  }

  return {
    line(bytes) {
      lines++;
      const start = bytes.toString("latin1", 0, CSV_START.length);
      if (lines === 1 && start === CSV_START) {
        throw new RangeError("CSV is for reading: take the export as JSON or NDJSON");
      }
      if (lines === 1 && start.startsWith(REFUSAL_START)) {
        throw new RangeError(`the relay refused the export: ${bytes.toString("utf8", 0, 300)}`);
      }
      isExport ||= isOfExport(bytes);
      if (lines === 1 && bytes.toString("latin1") === JSON_START) json = true;
      else if (ending !== undefined) {
        wrong ??= { expected: last + 1, line: readLine(bytes, lines) };
        const more = next.length === 0 && bytes.length > 0 && !isEnding(start, json);
        if (more) next.push(readLine(bytes, lines));
      } else if (isEnding(start, json)) ending = readEnding(bytes.toString());
      else if (json && lines === 2 && bytes.length === 0) blank = true;
      else readRow(bytes);
    },
    end(whole) {
      if (lines > 0 && !isExport) {
        throw new RangeError(
          "this is not an audit export of Relay: take one with relay audit export --file audit.ndjson",
        );
      }
      const statement = ending ? readStatement(ending.checkpoint) : null;
      let finding = wrong === null
        ? null
        : findFirst({ ...wrong, next, later, size: statement?.size ?? null, whole });
      if (finding === null && (ending === undefined || !whole)) {
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
        handovers: chain,
      };
    },
  };
}
