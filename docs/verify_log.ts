/**
 * What docs/verify.ts checks of an audit log, by docs/audit.md alone: signed notes, an export of rows, and that a log
 * only grew.
 */
import { Buffer } from "node:buffer";
import { createHash, createPublicKey, type Hash, verify } from "node:crypto";

/** The first fault of an archive. */
export class Fault extends Error {
  constructor(readonly file: string, readonly why: string) {
    super(`${file}: ${why}`);
  }
}

const EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
export const sha256 = (...parts: (Uint8Array | string)[]): Buffer =>
  parts.reduce((hash: Hash, part) => hash.update(part), createHash("sha256")).digest();
const node = (left: Uint8Array, right: Uint8Array) => sha256("\x01", left, right);

export function must(holds: unknown, file: string, why: string): asserts holds {
  if (!holds) throw new Fault(file, why);
}

/** A public key of a signed note. */
export interface Key {
  readonly name: string;
  readonly raw: Buffer;
}

export function readKey(text: string): Key | null {
  const [, name = "", , encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const key = { name, raw: Buffer.from(encoded, "base64").subarray(1) };
  return key.raw.length === 32 && keyText(key) === text ? key : null;
}

const typed = ({ raw }: Key) => Buffer.concat([Buffer.of(1), raw]);
const idOf = (key: Key) => sha256(`${key.name}\n`, typed(key)).subarray(0, 4);
export const keyText = (key: Key) =>
  `${key.name}+${idOf(key).toString("hex")}+${typed(key).toString("base64")}`;

export function isSigned({ raw }: Key, text: string | Uint8Array, signature: Uint8Array): boolean {
  const key = { kty: "OKP", crv: "Ed25519", x: raw.toString("base64url") };
  return verify(null, Buffer.from(text), createPublicKey({ key, format: "jwk" }), signature);
}

/** True when a note carries exactly one signature of each key, in this order. */
export function isNoteOf(note: string, ...keys: readonly Key[]): boolean {
  const end = note.indexOf("\n\n");
  const lines = note.slice(end + 2).split("\n");
  return end > 0 && lines.length === keys.length + 1 && lines.at(-1) === "" &&
    keys.every((key, at) => {
      const signature = Buffer.from(lines[at]!.split(" ").at(-1)!, "base64").subarray(4);
      const mark = Buffer.concat([idOf(key), signature]).toString("base64");
      return lines[at] === `— ${key.name} ${mark}` &&
        isSigned(key, note.slice(0, end + 1), signature);
    });
}

/** The keys of a log: the one that signs now, and its predecessors with the rows that they signed for. */
export class Keys {
  readonly #former: { readonly key: Key; readonly rows: number }[] = [];

  constructor(readonly now: Key, readonly handovers: readonly string[]) {
    let next = now;
    for (const note of handovers.toReversed()) {
      const [name, old = "", to, rows = ""] = note.split("\n");
      const key = readKey(old.slice("key ".length));
      const follows = key !== null && name === now.name && key.name === name &&
        to === `next ${keyText(next)}` && /^rows \d+$/.test(rows) && isNoteOf(note, key, next);
      must(follows, "keys.json", "a key was not handed over");
      this.#former.unshift({ key, rows: Number(rows.slice("rows ".length)) });
      next = key;
    }
  }

  has = (text: string): boolean =>
    [this.now, ...this.#former.map(({ key }) => key)].some((key) => keyText(key) === text);

  /** The statement of a checkpoint that one of the keys may have signed; more lines follow those of a checkpoint. */
  read(note: string, file: string, more?: Key): { size: number; root: Buffer; rest: string[] } {
    const lines = note.slice(0, Math.max(0, note.indexOf("\n\n"))).split("\n");
    const [origin, size = "", root = "", , , ...rest] = lines;
    const signers = [
      this.now,
      ...this.#former.filter(({ rows }) => Number(size) <= rows).map(({ key }) => key),
    ];
    const signed = signers.some((key) => isNoteOf(note, key, ...more === undefined ? [] : [more]));
    must(origin === this.now.name && signed, file, "a checkpoint is not signed by the log's key");
    return { size: Number(size), root: Buffer.from(root, "base64"), rest };
  }
}

const KEPT = 8;
const ROW =
  /^\{"seq":([1-9]\d*),"leaf_hash":"([^"]+)",(?:"before":\{"after":(0|[1-9]\d*),"hashes":(\["[^\]]*"\])\},)?(?:"tile_hash":"([^"]+)",)?/;

/** What a row says about the receipt of a command. */
export interface ReceiptRow {
  readonly agentId: string;
  readonly signature: string;
  readonly line: string;
}

/** Checks the export of a log line by line (docs/audit.md), with the memory of one line. */
export class Export {
  rows = 0;
  proof: { readonly [name: string]: unknown } | null = null;
  readonly receipts = new Map<number, ReceiptRow>();
  readonly #peaks: [level: number, hash: Buffer][] = [];
  readonly #numbers = createHash("sha256");
  #last = 0;
  #gap = 0;

  line(bytes: Buffer, file: string): void {
    const fail = (why: string, row = this.#last + 1) => `row ${row} ${why}`;
    must(this.proof === null, file, "something follows the proof");
    const text = bytes.toString("latin1");
    if (text.startsWith('{"proof":')) {
      const whole = bytes.toString();
      try {
        this.proof = JSON.parse(whole).proof;
      } catch {
        this.proof = null;
      }
      const written = JSON.stringify({ proof: this.proof }) === whole;
      must(
        this.proof !== null && written && this.proof.after === this.#last,
        file,
        fail("is missing"),
      );
      return;
    }
    const [front = "", number = "", claimed, after, hashes, tile] = ROW.exec(text) ?? [];
    const seq = Number(number);
    must(front !== "", file, fail("cannot be read"));
    must(after === undefined || Number(after) === this.#last, file, fail("is missing"));
    this.#skip(seq - 1, JSON.parse(hashes ?? "[]"), file);
    this.#last = seq;
    this.rows++;
    const leaf = sha256("\0{", bytes.subarray(front.length));
    const full = this.#add(leaf)?.toString("base64");
    must(leaf.toString("base64") === claimed && full === tile, file, fail("was altered", seq));
    this.#numbers.update(`${seq}\n`);
    if (text.includes('"receipt":{')) this.#note(JSON.parse(bytes.toString()));
  }

  /** Compares the rows with the tree of a checkpoint and with the signed choice of rows. */
  end(size: number, root: Buffer, expired: number, chosen: readonly string[], file: string): void {
    must(this.proof !== null, file, `row ${this.#last + 1} and the rows after it are cut off`);
    this.#skip(size, this.proof.hashes as string[], file);
    let digest = this.#peaks.pop()?.[1] ?? sha256();
    while (this.#peaks.length > 0) digest = node(this.#peaks.pop()![1], digest);
    const [filter, held] = chosen;
    const allowed = filter !== "filter {}" || this.#gap <= expired;
    const all = digest.equals(root) && held === `rows ${this.rows} ${this.#numbers.digest("hex")}`;
    must(allowed && all, file, "the rows do not match the signed checkpoint");
  }

  #note({ seq, agent_id, event_type, resource_type, details }: Row): void {
    const reason = REASONS[event_type];
    if (resource_type !== "command" || agent_id === undefined || reason === undefined) return;
    const { command_id, exit_code, signal, truncated, receipt } = details;
    const { signature, verdict, stdout_sha256 = EMPTY, stderr_sha256 = EMPTY } = receipt;
    const ended = `${exit_code ?? "-"} ${signal ?? "-"} ${reason} ${truncated}`;
    const line = `${command_id} ${verdict} ${ended} ${stdout_sha256} ${stderr_sha256}\n`;
    this.receipts.set(seq, { agentId: agent_id, signature, line });
  }

  #add(hash: Buffer, level = 0): Buffer | undefined {
    let tile: Buffer | undefined;
    while (this.#peaks.at(-1)?.[0] === level) {
      hash = node(this.#peaks.pop()![1], hash);
      if (++level === KEPT) tile = hash;
    }
    this.#peaks.push([level, hash]);
    return tile;
  }

  /** Adds rows that are left out: the largest complete subtrees that fit, from left to right. */
  #skip(to: number, hashes: readonly string[], file: string): void {
    let size = this.#last;
    for (const text of hashes) {
      let level = 0;
      while (size % 2 ** (level + 1) === 0 && size + 2 ** (level + 1) <= to) level++;
      const hash = Buffer.from(text, "base64");
      must(
        hash.length === 32 && hash.toString("base64") === text,
        file,
        `row ${size + 1}: not a hash`,
      );
      this.#add(hash, level);
      size += 2 ** level;
      this.#gap = to;
    }
    must(size === to, file, `row ${this.#last + 1} is missing`);
  }
}

interface Row {
  readonly seq: number;
  readonly agent_id?: string;
  readonly event_type: string;
  readonly resource_type: string;
  // deno-lint-ignore no-explicit-any
  readonly details: any;
}

const REASONS: Readonly<Record<string, string>> = {
  command_executed: "exited",
  command_timeout: "timed_out",
  command_cancelled: "cancelled",
  command_failed: "failed_to_start",
};

/** True when the tree of `to` leaves begins with the tree of `from` (RFC 6962, 2.1.4.2). */
export function isGrowth(
  from: number,
  to: number,
  old: Buffer,
  now: Buffer,
  path: Buffer[],
): boolean {
  if (from === to) return path.length === 0 && old.equals(now);
  if (from === 0 || from > to) return path.length === 0 && from === 0;
  const rest = Number.isInteger(Math.log2(from)) ? [old, ...path] : [...path];
  let at = from - 1, last = to - 1;
  const up = () => [at, last] = [Math.floor(at / 2), Math.floor(last / 2)];
  while (at % 2 === 1) up();
  const first = rest.shift();
  if (first === undefined) return false;
  let [left, right] = [first, first];
  for (const hash of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      [left, right] = [node(hash, left), node(hash, right)];
      while (at % 2 === 0 && at !== 0) up();
    } else right = node(right, hash);
    up();
  }
  return last === 0 && left.equals(old) && right.equals(now);
}
