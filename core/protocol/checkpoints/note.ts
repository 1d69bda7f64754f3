import { Buffer } from "node:buffer";
import { createHash, type KeyObject, sign, verify } from "node:crypto";
import { publicKeyOf } from "../statements.ts";

/**
 * Signed notes of transparency logs (c2sp.org/signed-note, c2sp.org/tlog-checkpoint): a text, an empty line and a
 * signature line that names the key. The tools of that ecosystem can read them.
 */

/** What a checkpoint states: the first `size` leaves of this log have this root. */
export interface Statement {
  /** Which log: `relay/<organization>/<space>`. */
  readonly origin: string;
  readonly size: number;
  readonly root: Uint8Array;
  /** ISO 8601. */
  readonly time: string;
  /** How many of the oldest rows were no longer kept. */
  readonly expired: number;
  /** For exports: the filter and the rows that matched. */
  readonly selection: Selection | null;
}

/** The rows that an export contains. */
export interface Selection {
  /** Canonical JSON. */
  readonly filter: string;
  readonly rows: number;
  /** SHA-256, in hex, over the rows' numbers, each followed by a line feed. */
  readonly digest: string;
}

/** A public key with its name. */
export interface NoteKey {
  readonly name: string;
  /** The 32 raw bytes, base64url. */
  readonly publicKey: string;
}

const ED25519 = 0x01;
const KEY_ID_BYTES = 4;
const SIGNATURE_BYTES = 64;
const NAME = /^[^\s+]{1,256}$/;

/** The text of a statement without signatures. */
export function statementText(statement: Statement): string {
  const { origin, size, root, time, expired, selection } = statement;
  const lines = [origin, `${size}`, Buffer.from(root).toString("base64")];
  lines.push(`time ${time}`, `expired ${expired}`);
  if (selection !== null) {
    lines.push(`filter ${selection.filter}`, `rows ${selection.rows} ${selection.digest}`);
  }
  return `${lines.join("\n")}\n`;
}

/** Parses the statement of a signed note; null for another format. */
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
  // Serializing it again must give the same text, so no note has two readings.
  return note.startsWith(`${statementText(statement)}\n`) ? statement : null;
}

/** Signs a text that ends with a line feed. */
export function signNote(text: string, key: NoteKey, privateKey: KeyObject): string {
  return `${text}\n${signatureLine(text, key, privateKey)}`;
}

/** The signature line of a key for a text. */
export const signatureLine = (text: string, key: NoteKey, privateKey: KeyObject): string =>
  lineOf(key, sign(null, Buffer.from(text), privateKey));

function lineOf(key: NoteKey, signature: Uint8Array): string {
  const named = Buffer.concat([keyIdOf(key), signature]).toString("base64");
  return `— ${key.name} ${named}\n`;
}

/** The text of a note that its signatures cover. */
export const signedTextOf = (note: string): string => note.slice(0, note.indexOf("\n\n") + 1);

/** A note with one more signature, of another key; null for a signature that is not by that key. */
export function cosigned(note: string, key: NoteKey, signature: Uint8Array): string | null {
  const both = note + lineOf(key, signature);
  return verifiesNote(both, key) ? both : null;
}

/** True when the first signature of a note names this key. The signature is not verified. */
export function namesKey(note: string, key: NoteKey): boolean {
  const [, line = ""] = note.split("\n\n");
  const prefix = `— ${key.name} `;
  const id = Buffer.from(line.slice(prefix.length), "base64").subarray(0, KEY_ID_BYTES);
  return line.startsWith(prefix) && id.equals(keyIdOf(key));
}

/** True when a note carries a valid signature by this key. */
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

/** True when exactly one signature follows the text. Further lines would be unsigned. */
export const isSignedOnce = (note: string): boolean =>
  note.indexOf("\n", note.indexOf("\n\n") + 2) === note.length - 1;

/** A key as `name+id+base64`, the form that `--key` accepts. */
export function keyText(key: NoteKey): string {
  const id = keyIdOf(key).toString("hex");
  return `${key.name}+${id}+${typed(key.publicKey).toString("base64")}`;
}

/** Parses what `keyText` wrote; null for a malformed key. */
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
