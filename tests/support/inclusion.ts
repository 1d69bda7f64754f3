import { HASH_BYTES, nodeHash } from "../../core/protocol/checkpoints/node_hash.ts";
import { sameHash } from "../../core/protocol/checkpoints/merkle.ts";

/** True when a leaf is the `index`th of the tree with this root. */
export function verifyInclusion(
  leaf: Uint8Array,
  index: number,
  size: number,
  path: readonly Uint8Array[],
  root: Uint8Array,
): boolean {
  if (index < 0 || index >= size || !path.every(isHash)) return false;
  let hash = leaf, at = index, last = size - 1;
  for (const sibling of path) {
    if (last === 0) return false;
    if (at % 2 === 1 || at === last) {
      hash = nodeHash(sibling, hash);
      while (at % 2 === 0 && at > 0) at /= 2, last = Math.floor(last / 2);
    } else hash = nodeHash(hash, sibling);
    at = Math.floor(at / 2), last = Math.floor(last / 2);
  }
  return last === 0 && sameHash(hash, root);
}

const isHash = ({ length }: Uint8Array): boolean => length === HASH_BYTES;
