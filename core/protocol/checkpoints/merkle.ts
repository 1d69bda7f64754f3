import { hash } from "node:crypto";
import { HASH_BYTES, nodeHash } from "./node_hash.ts";

/** A SHA-256 hash: 32 bytes. */
export type Hash = Uint8Array<ArrayBuffer>;

/** Reads the hash of the `index`th complete subtree of 2^`level` leaves. */
export type ReadNode = (level: number, index: number) => Hash | Promise<Hash>;

/** The hash of a leaf in hex (RFC 6962): SHA-256(0x00 ‖ UTF-8 bytes). */
const leafHex = (text: string): string => hash("sha256", `\0${text}`);

/** The hash of a leaf (RFC 6962). */
export const leafHash = (text: string): Hash => Uint8Array.fromHex(leafHex(text));

/** The concatenated hashes of many leaves. Decoding one string halves the cost of each. */
export const leafHashes = (texts: readonly string[]): Hash =>
  Uint8Array.fromHex(texts.map(leafHex).join(""));

/** The hash of a tree without leaves. */
export const EMPTY_ROOT: Hash = Uint8Array.fromHex(
  "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
);

export function sameHash(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** The hash of the leaves from `lo` to below `hi`, a node of the tree: MTH(D[lo:hi]). */
export async function rangeHash(read: ReadNode, lo: number, hi: number): Promise<Hash> {
  const count = hi - lo;
  if (count === 0) return EMPTY_ROOT;
  const left = largestPower(count);
  if (left === count) return await read(Math.log2(count), lo / count);
  return nodeHash(await rangeHash(read, lo, lo + left), await rangeHash(read, lo + left, hi));
}

/** The audit path of leaf `index` in the tree of `size` leaves, from the leaf up: PATH(m, D[n]). */
export async function inclusionPath(read: ReadNode, index: number, size: number): Promise<Hash[]> {
  const path: Hash[] = [];
  for (let lo = 0, hi = size; hi - lo > 1;) {
    const middle = lo + splitOf(hi - lo);
    if (index < middle) {
      path.push(await rangeHash(read, middle, hi));
      hi = middle;
    } else {
      path.push(await rangeHash(read, lo, middle));
      lo = middle;
    }
  }
  return path.reverse();
}

/** The proof that the tree of `to` leaves starts with the tree of `from`: PROOF(m, D[n]). */
export async function consistencyPath(read: ReadNode, from: number, to: number): Promise<Hash[]> {
  const path: Hash[] = [];
  let lo = 0, hi = to, whole = true;
  while (hi > from) {
    const middle = lo + splitOf(hi - lo);
    if (from <= middle) {
      path.push(await rangeHash(read, middle, hi));
      hi = middle;
    } else {
      path.push(await rangeHash(read, lo, middle));
      lo = middle;
      whole = false;
    }
  }
  if (!whole) path.push(await rangeHash(read, lo, hi));
  return path.reverse();
}

/** True when the tree of `to` leaves starts with the tree of `from`. */
export function verifyConsistency(
  from: number,
  to: number,
  fromRoot: Uint8Array,
  toRoot: Uint8Array,
  path: readonly Uint8Array[],
): boolean {
  if (from > to || !path.every(isHash)) return false;
  if (from === to) return path.length === 0 && sameHash(fromRoot, toRoot);
  if (from === 0) return path.length === 0;
  const rest = largestPower(from) === from ? [fromRoot, ...path] : [...path];
  let at = from - 1, last = to - 1;
  while (at % 2 === 1) at = Math.floor(at / 2), last = Math.floor(last / 2);
  const first = rest.shift();
  if (first === undefined) return false;
  let old = first, now = first;
  for (const sibling of rest) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      old = nodeHash(sibling, old);
      now = nodeHash(sibling, now);
      while (at % 2 === 0 && at > 0) at /= 2, last = Math.floor(last / 2);
    } else now = nodeHash(now, sibling);
    at = Math.floor(at / 2), last = Math.floor(last / 2);
  }
  return last === 0 && sameHash(old, fromRoot) && sameHash(now, toRoot);
}

const TILE_LEVEL = 8;

/** A tree that grows at its right edge and keeps only the complete subtrees that form its root. */
export class GrowingTree {
  #size = 0;
  #tile: Uint8Array | null = null;
  /** In descending size. */
  readonly #peaks: { level: number; hash: Uint8Array }[] = [];

  get size(): number {
    return this.#size;
  }

  /**
   * Appends a complete subtree of 2^`level` leaves; a single leaf has level 0.
   * @throws {RangeError} when the size is not a multiple of 2^`level`
   */
  add(hash: Uint8Array, level = 0): void {
    if (this.#size % 2 ** level !== 0) {
      throw new RangeError("the subtree does not fit at this position");
    }
    this.#size += 2 ** level;
    let top = { level, hash };
    this.#tile = null;
    for (let at = this.#peaks.length - 1; at >= 0 && this.#peaks[at]!.level === top.level; at--) {
      top = { level: top.level + 1, hash: nodeHash(this.#peaks.pop()!.hash, top.hash) };
      if (top.level === TILE_LEVEL) this.#tile = top.hash;
    }
    this.#peaks.push(top);
  }

  /** The hash of the 256 leaves that the last addition completed; null when it completed none. */
  get tile(): Uint8Array | null {
    return this.#tile;
  }

  root(): Uint8Array {
    if (this.#size === 0) return EMPTY_ROOT;
    let hash = this.#peaks.at(-1)!.hash;
    for (let at = this.#peaks.length - 2; at >= 0; at--) {
      hash = nodeHash(this.#peaks[at]!.hash, hash);
    }
    return hash;
  }
}

/** The largest complete subtrees that cover the leaves from `lo` to below `hi`. */
export function* subtreesOf(lo: number, hi: number): Generator<{ level: number; index: number }> {
  for (let at = lo; at < hi;) {
    let level = 0;
    while (at % 2 ** (level + 1) === 0 && at + 2 ** (level + 1) <= hi) level++;
    yield { level, index: at / 2 ** level };
    at += 2 ** level;
  }
}

const isHash = ({ length }: Uint8Array): boolean => length === HASH_BYTES;

/** The largest power of two up to `n`. */
function largestPower(n: number): number {
  let power = 1;
  while (power * 2 <= n) power *= 2;
  return power;
}

/** The largest power of two below `n`, where RFC 6962 splits a tree of `n` leaves. */
const splitOf = (n: number): number => largestPower(n - 1);
