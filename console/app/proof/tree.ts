import { base64, type Bytes, fromBase64, HASH_BYTES, sha256, utf8 } from "./hashes.ts";
import type { Checkpoint } from "./notes.ts";

/** The Merkle tree of a log (RFC 6962). Nothing that the relay answers is trusted. */

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
