/**
 * Verifies what docs/audit.md promises, with nothing but WebCrypto: hashes of rows, paths of the Merkle tree (RFC 6962),
 * signed notes (c2sp.org/signed-note) and the handovers between keys. It trusts no answer of the relay.
 */

type Bytes = Uint8Array<ArrayBuffer>;

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
const HASH_BYTES = 32;
const CHECKPOINT =
  /^(\S+)\n(0|[1-9]\d{0,14})\n([A-Za-z0-9+/]{43}=)\ntime (\S+)\nexpired (?:0|[1-9]\d{0,14})\n\n— \S+ \S+\n$/;
const HANDOVER =
  /^(\S+)\nkey (\S+)\nnext (\S+)\nrows (0|[1-9]\d{0,14})\ntime \S+\n\n— \S+ \S+\n— \S+ \S+\n$/;

const utf8 = (text: string): Bytes => new TextEncoder().encode(text);

async function sha256(...parts: readonly Bytes[]): Promise<Bytes> {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return new Uint8Array(await crypto.subtle.digest("SHA-256", all));
}

/** The bytes of canonical base64; null for any other text, so that no value has two spellings. */
function fromBase64(text: string): Bytes | null {
  try {
    const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
    return base64(bytes) === text ? bytes : null;
  } catch {
    return null;
  }
}

const base64 = (bytes: Bytes): string => btoa(String.fromCharCode(...bytes));
const hex = (bytes: Bytes): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");

/** The SHA-256 of a text, in hex. */
export const digestOf = async (text: string): Promise<string> => hex(await sha256(utf8(text)));

/** The hash of a row as a leaf of the tree, in base64: SHA-256(0x00 ‖ the row's bytes). */
export const leafOf = async (row: string): Promise<string> =>
  base64(await sha256(Uint8Array.of(0), utf8(row)));

const nodeOf = (left: Bytes, right: Bytes): Promise<Bytes> => sha256(Uint8Array.of(1), left, right);

/** The hashes of a path; null when one is malformed. */
function hashesOf(path: readonly string[]): readonly Bytes[] | null {
  const hashes = path.map(fromBase64);
  const isHash = (hash: Bytes | null): hash is Bytes => hash?.length === HASH_BYTES;
  return hashes.every(isHash) ? hashes : null;
}

/** The root, in base64, to which a path leads from the leaf at `index`; null when the path is not of such a tree. */
export async function rootOf(
  leaf: string,
  index: number,
  size: number,
  path: readonly string[],
): Promise<string | null> {
  const hashes = hashesOf([leaf, ...path]);
  if (hashes === null || index < 0 || index >= size) return null;
  let at = index, last = size - 1;
  let [hash, ...rest] = hashes as readonly [Bytes, ...Bytes[]];
  for (const sibling of rest) {
    if (last === 0) return null;
    if (at % 2 === 1 || at === last) {
      hash = await nodeOf(sibling, hash);
      while (at % 2 === 0 && at > 0) at /= 2, last = Math.floor(last / 2);
    } else hash = await nodeOf(hash, sibling);
    at = Math.floor(at / 2), last = Math.floor(last / 2);
  }
  return last === 0 ? base64(hash) : null;
}

/** True when a path proves that the log of `later` begins with the log of `earlier`. */
export async function continues(
  earlier: Checkpoint,
  later: Checkpoint,
  path: readonly string[],
): Promise<boolean> {
  const [from, to] = [earlier.size, later.size];
  if (from > to) return false;
  if (from === to) return path.length === 0 && earlier.root === later.root;
  if (from === 0) return path.length === 0;
  const isWhole = Number.isInteger(Math.log2(from));
  const hashes = hashesOf(isWhole ? [earlier.root, ...path] : path);
  if (hashes === null || hashes.length === 0) return false;
  let at = from - 1, last = to - 1;
  while (at % 2 === 1) at = Math.floor(at / 2), last = Math.floor(last / 2);
  const [first, ...rest] = hashes as readonly [Bytes, ...Bytes[]];
  let old = first, now = first;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      old = await nodeOf(sibling, old);
      now = await nodeOf(sibling, now);
      while (at % 2 === 0 && at > 0) at /= 2, last = Math.floor(last / 2);
    } else now = await nodeOf(now, sibling);
    at = Math.floor(at / 2), last = Math.floor(last / 2);
  }
  return last === 0 && base64(old) === earlier.root && base64(now) === later.root;
}

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

/** The canonical JSON (RFC 8785) of a value that was read from JSON. */
export function canonicalJson(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(",")}]`;
  const members = value as Readonly<Record<string, unknown>>;
  return `{${
    Object.keys(members).filter((name) => members[name] !== undefined).sort()
      .map((name) => `${JSON.stringify(name)}:${canonicalJson(members[name])}`).join(",")
  }}`;
}
