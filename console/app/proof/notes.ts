import { type Bytes, fromBase64, HASH_BYTES, hex, sha256, utf8 } from "./hashes.ts";

/** Signed notes (c2sp.org/signed-note), and the handovers between keys. Nothing that the relay answers is trusted. */

/** The public key of a log, as `name+id+base64`. */
export interface LogKey {
  /** Which log: `relay/<organization>/<space>`. */
  readonly name: string;
  /** The first four bytes of the SHA-256 of name and key, in hex. */
  readonly id: string;
  readonly text: string;
  readonly bytes: Bytes;
}

/** What a checkpoint states: the log's first `size` rows have this root. */
export interface Checkpoint {
  readonly origin: string;
  readonly size: number;
  /** In base64. */
  readonly root: string;
  /** ISO 8601. */
  readonly time: string;
}

/** A note by which a key handed over to the next. */
export interface Handover {
  readonly from: LogKey;
  readonly to: LogKey;
  /** The former key signs for no more rows. */
  readonly rows: number;
}

const ED25519 = 0x01;
const KEY_ID_BYTES = 4;
const CHECKPOINT =
  /^(\S+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\ntime (\S+)\nexpired (?:0|[1-9]\d{0,14})\n\n— \S+ \S+\n$/;
const HANDOVER =
  /^(\S+)\nkey (\S+)\nnext (\S+)\nrows (0|[1-9]\d{0,14})\ntime \S+\n\n— \S+ \S+\n— \S+ \S+\n$/;

/** Parses a checkpoint without verifying its signature; null for another text. */
export function readCheckpoint(note: string): Checkpoint | null {
  const [, origin, size, root, time] = CHECKPOINT.exec(note) ?? [];
  if (origin === undefined) return null;
  return { origin, size: Number(size), root: root!, time: time! };
}

/** Parses a public key and checks its id; null for a malformed key. */
export async function readKey(text: string): Promise<LogKey | null> {
  const [, name, id, encoded] = /^([^+\s]{1,256})\+([0-9a-f]{8})\+(\S+)$/.exec(text) ?? [];
  const typed = encoded === undefined ? null : fromBase64(encoded);
  if (typed?.length !== 1 + HASH_BYTES || typed[0] !== ED25519) return null;
  const found = (await sha256(utf8(`${name}\n`), typed)).subarray(0, KEY_ID_BYTES);
  return hex(found) === id ? { name: name!, id, text, bytes: typed.slice(1) } : null;
}

/** True when this browser verifies Ed25519. */
export async function canVerify(): Promise<boolean> {
  try {
    const made = await crypto.subtle.importKey(
      "raw",
      new Uint8Array(HASH_BYTES),
      "Ed25519",
      false,
      [
        "verify",
      ],
    );
    return made.type === "public";
  } catch {
    return false;
  }
}

/** True when a note carries a valid signature by this key. */
export async function isSignedBy(note: string, { name, id, bytes }: LogKey): Promise<boolean> {
  const end = note.indexOf("\n\n");
  if (end < 0) return false;
  const key = await crypto.subtle.importKey("raw", bytes, "Ed25519", false, ["verify"]);
  const prefix = `— ${name} `;
  for (const line of note.slice(end + 2).split("\n")) {
    const signed = line.startsWith(prefix) ? fromBase64(line.slice(prefix.length)) : null;
    if (signed === null || hex(signed.subarray(0, KEY_ID_BYTES)) !== id) continue;
    const signature = signed.subarray(KEY_ID_BYTES);
    if (await crypto.subtle.verify("Ed25519", key, signature, utf8(note.slice(0, end + 1)))) {
      return true;
    }
  }
  return false;
}

/** The handovers to a key, oldest first; null when a signature is invalid or the chain is broken. */
export async function readChain(
  notes: readonly string[],
  last: LogKey,
): Promise<readonly Handover[] | null> {
  const chain: Handover[] = [];
  for (const note of notes) {
    const [, origin, first = "", next = "", rows] = HANDOVER.exec(note) ?? [];
    const [from, to] = [await readKey(first), await readKey(next)];
    if (from === null || to === null || from.name !== origin || to.name !== origin) return null;
    if (chain.length > 0 && chain.at(-1)!.to.text !== from.text) return null;
    if (!await isSignedBy(note, from) || !await isSignedBy(note, to)) return null;
    chain.push({ from, to, rows: Number(rows) });
  }
  return chain.length === 0 || chain.at(-1)!.to.text === last.text ? chain : null;
}
