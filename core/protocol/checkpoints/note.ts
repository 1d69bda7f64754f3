import { Buffer } from "node:buffer";
import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { publicKeyOf } from "../statements.ts";

/**
 * Signed notes, as transparency logs write them (c2sp.org/signed-note, c2sp.org/tlog-checkpoint): a text,
 * an empty line and a signature line that names the key. Their tools read ours.
 */

/** What a checkpoint says: the first `size` leaves of this log have this root. */
export interface Statement {
  /** Which log: `relay/<organization>/<space>`. */
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** ISO 8601. */
  readonly time: string;
  /** How many of the oldest rows were no longer kept. */
  readonly expired: number;
  /** Of an export: what it was asked for, as canonical JSON, and which rows it holds. */
  readonly selection: Selection | null;
}

/** Which rows an export holds. */
export interface Selection {
  readonly filter: string;
  readonly rows: number;
  /** SHA-256 over their numbers, each with a line feed, in hex. */
  readonly digest: string;
}

/** Whose signature it is. */
export interface NoteKey {
  readonly name: string;
  /** The 32 raw bytes, base64url. */
  readonly publicKey: string;
}

const ED25519 = 0x01;
const KEY_ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const NAME = /^[^\s+]{1,256}$/;

/** The text of a statement, without signatures. */
export function statementText(statement: Statement): string {
  const { origin, size, root, time, expired, selection } = statement;
  const lines = [origin, `${size}`, Buffer.from(root).toString("base64")];
  lines.push(`time ${time}`, `expired ${expired}`);
  if (selection !== null) {
    lines.push(`filter ${selection.filter}`, `rows ${selection.rows} ${selection.digest}`);
  }
  return `${lines.join("\n")}\n`;
}

/** What a signed note says; null when it is not written as ours are. */
export function readStatement(note: string): Statement | null {
  const lines = note.slice(0, Math.max(0, note.indexOf("\n\n"))).split("\n");
  const [origin = "", size = "", root64 = "", time = "", expired = "", filter, rows] = lines;
  const root = Buffer.from(root64, "base64");
  const held = /^rows (\d+) ([0-9a-f]{64})$/.exec(rows ?? "");
  const plain = lines.length === 5;
  if (!plain && (lines.length !== 7 || held === null || !filter?.startsWith("filter "))) {
    return null;
  }
  const statement = {
    origin,
    size: Number(size),
    root: new Uint8Array(root),
    time: time.slice("time ".length),
    expired: Number(expired.slice("expired ".length)),
    selection: plain ? null : {
      filter: filter!.slice("filter ".length),
      rows: Number(held![1]),
      digest: held![2]!,
    },
  };
  // Written again it must be the same: then nothing in it is read in two ways.
  return note.startsWith(`${statementText(statement)}\n`) ? statement : null;
}

/** Signs a text, which ends with a line feed. */
export function signNote(text: string, key: NoteKey, privateKey: KeyObject): string {
  return `${text}\n${signatureLine(text, key, privateKey)}`;
}

/** The line by which a key signs a text. */
export function signatureLine(text: string, key: NoteKey, privateKey: KeyObject): string {
  const signature = sign(null, Buffer.from(text), privateKey);
  const named = Buffer.concat([keyIdOf(key), signature]).toString("base64");
  return `— ${key.name} ${named}\n`;
}

/** Whether the first signature of a note says that it is of this key; it is not verified. */
export function namesKey(note: string, key: NoteKey): boolean {
  const [, line = ""] = note.split("\n\n");
  const prefix = `— ${key.name} `;
  const id = Buffer.from(line.slice(prefix.length), "base64").subarray(0, KEY_ID_BYTES);
  return line.startsWith(prefix) && id.equals(keyIdOf(key));
}

/** Whether a note carries the signature of this key over its text. */
export function verifiesNote(note: string, key: NoteKey): boolean {
  const end = note.indexOf("\n\n");
  const publicKey = publicKeyOf(key.publicKey);
  if (end < 0 || publicKey === null) return false;
  const text = Buffer.from(note.slice(0, end + 1));
  const prefix = `— ${key.name} `;
  return note.slice(end + 2).split("\n").some((line) => {
    if (!line.startsWith(prefix)) return false;
    const bytes = Buffer.from(line.slice(prefix.length), "base64");
    return bytes.toString("base64") === line.slice(prefix.length) &&
      bytes.length === KEY_ID_BYTES + SIGNATURE_BYTES &&
      bytes.subarray(0, KEY_ID_BYTES).equals(keyIdOf(key)) &&
      verify(null, text, publicKey, bytes.subarray(KEY_ID_BYTES));
  });
}

/** Whether one signature stands behind a note's text and nothing else, which nobody would have signed. */
export const isSignedOnce = (note: string): boolean =>
  note.indexOf("\n", note.indexOf("\n\n") + 2) === note.length - 1;

/** A key as `name+id+base64`: what `--key` takes. */
export function keyText(key: NoteKey): string {
  const id = keyIdOf(key).toString("hex");
  return `${key.name}+${id}+${typed(key.publicKey).toString("base64")}`;
}

/** The key that `keyText` wrote; null when it is none. */
export function readKey(text: string): NoteKey | null {
  const [, name = "", , encoded = ""] = /^([^+]+)\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const bytes = Buffer.from(encoded, "base64");
  const key = { name, publicKey: bytes.subarray(1).toString("base64url") };
  const good = NAME.test(name) && bytes[0] === ED25519 && publicKeyOf(key.publicKey) !== null &&
    keyText(key) === text;
  return good ? key : null;
}

function keyIdOf({ name, publicKey }: NoteKey): Buffer {
  const hash = createHash("sha256").update(`${name}\n`).update(typed(publicKey)).digest();
  return hash.subarray(0, KEY_ID_BYTES);
}

const typed = (publicKey: string): Buffer =>
  Buffer.concat([Buffer.of(ED25519), Buffer.from(publicKey, "base64url")]);
