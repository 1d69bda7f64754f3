/** The bit that marks an instruction to copy from the base. */
const COPIES = 128;
/** The length of a copy instruction that states none. */
const COPY_BYTES = 0x10000;
/** Up to this length a loop is faster than making a view. */
const LOOP_BYTES_MAX = 32;
/** No valid size has more groups of seven bits. */
const SIZE_GROUPS_MAX = 5;

/**
 * Applies a delta of a packfile to its base. A delta holds the sizes of the base and of the result, then
 * instructions to copy from the base or to insert its own bytes. `mustFit` checks the size of the result before
 * memory is allocated.
 * @throws {Error} for a delta that is malformed, truncated or of another base
 */
export function applyDelta(
  delta: Uint8Array,
  base: Uint8Array,
  mustFit: (bytes: number) => void,
): Uint8Array {
  let at = 0;
  const next = () => {
    const byte = delta[at++];
    if (byte === undefined) throw new Error("the delta is truncated");
    return byte;
  };
  const size = () => {
    let value = 0;
    for (let group = 0; group < SIZE_GROUPS_MAX; group++) {
      const byte = next();
      value += (byte & 127) * 128 ** group;
      if ((byte & 128) === 0) return value;
    }
    throw new Error("the delta has an invalid size");
  };
  /** Reads a little-endian number whose bytes are present where `flags` has a bit. */
  const number = (flags: number) => {
    let value = 0;
    for (let shift = 0; flags > 0; flags >>= 1, shift += 8) {
      if (flags & 1) value += next() * 2 ** shift;
    }
    return value;
  };
  if (size() !== base.length) throw new Error("the delta is of another base");
  const bytes = size();
  mustFit(bytes);
  const result = new Uint8Array(bytes);
  let made = 0;
  while (at < delta.length) {
    const step = next();
    const copies = (step & COPIES) !== 0;
    const start = copies ? number(step & 15) : at;
    const length = copies ? number((step >> 4) & 7) || COPY_BYTES : step;
    const source = copies ? base : delta;
    if (length === 0 || start + length > source.length || made + length > bytes) {
      throw new Error("a delta instruction is out of range");
    }
    if (length > LOOP_BYTES_MAX) result.set(source.subarray(start, start + length), made);
    else for (let n = 0; n < length; n++) result[made + n] = source[start + n]!;
    made += length;
    if (!copies) at += length;
  }
  if (made !== bytes) throw new Error("the delta makes an object of the wrong size");
  return result;
}
