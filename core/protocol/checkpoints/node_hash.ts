import { hash } from "node:crypto";

/** The length of a SHA-256 hash. */
export const HASH_BYTES = 32;

/** Reused for the input of each hash: 0x01 ‖ left ‖ right. */
const input = new Uint8Array(1 + 2 * HASH_BYTES);
input[0] = 0x01;

/** The hash of an inner node (RFC 6962): SHA-256(0x01 ‖ left ‖ right). */
export function nodeHash(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  input.set(left, 1);
  input.set(right, 1 + HASH_BYTES);
  return Uint8Array.fromHex(hash("sha256", input));
}

/** The root of `count` concatenated hashes; `count` is a power of two. */
export function foldHashes(
  hashes: Uint8Array,
  from: number,
  count: number,
): Uint8Array<ArrayBuffer> {
  if (count === 1) return hashes.slice(from * HASH_BYTES, (from + 1) * HASH_BYTES);
  const half = count / 2;
  return nodeHash(foldHashes(hashes, from, half), foldHashes(hashes, from + half, half));
}
