import { BLOCK_BYTES, hashBlocks } from "./node_hash.ts";
import { type Hash, leafHash } from "./merkle.ts";

/** Longer texts are hashed by the runtime, which is faster. */
const CHARS_MAX = 1_024;
/** A one bit and the length in bits end the input. */
const ENDING_BYTES = 9;
const input = new Uint8Array(
  BLOCK_BYTES * Math.ceil((1 + 3 * CHARS_MAX + ENDING_BYTES) / BLOCK_BYTES),
);
const view = new DataView(input.buffer);
const encoder = new TextEncoder();

/**
 * The hash of a leaf, for scans of a log. Each hash of the runtime leaves 0.3 KiB that only a full garbage collection
 * frees: 27 MiB for 100,000 rows. This one leaves nothing and takes 4 to 6 times as long.
 */
export function leanLeafHash(text: string): Hash {
  if (text.length > CHARS_MAX) return leafHash(text);
  input[0] = 0;
  const bytes = 1 + encoder.encodeInto(text, input.subarray(1)).written;
  const end = BLOCK_BYTES * Math.ceil((bytes + ENDING_BYTES) / BLOCK_BYTES);
  input[bytes] = 0x80;
  input.fill(0, bytes + 1, end);
  view.setUint32(end - 4, 8 * bytes);
  return hashBlocks(input.subarray(0, end));
}
