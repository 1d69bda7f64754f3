const COPIES = 128;
/** What a copy takes that tells no length. */
const COPY_BYTES = 0x10000;
/** A view of so few bytes takes longer than they do. */
const LOOP_BYTES_MAX = 32;
/** More groups of seven bits than any size has that fits. */
const SIZE_GROUPS_MAX = 5;

/**
 * What a difference of a packfile makes of its base: the sizes of the base and of the result, then pieces of
 * the base to copy and pieces of its own. `mustFit` sees the size of the result before it is made.
 * @throws {Error} when it does not make exactly that
 */
export function applyDelta(
  delta: Uint8Array,
  base: Uint8Array,
  mustFit: (bytes: number) => void,
): Uint8Array {
  let at = 0;
  const next = () => {
    const byte = delta[at++];
    if (byte === undefined) throw new Error("a difference breaks off");
    return byte;
  };
  const size = () => {
    let value = 0;
    for (let group = 0; group < SIZE_GROUPS_MAX; group++) {
      const byte = next();
      value += (byte & 127) * 128 ** group;
      if ((byte & 128) === 0) return value;
    }
    throw new Error("a difference has a size that is none");
  };
  /** The bytes of a number that are there, lowest first, each told by its flag. */
  const number = (flags: number) => {
    let value = 0;
    for (let shift = 0; flags > 0; flags >>= 1, shift += 8) {
      if (flags & 1) value += next() * 2 ** shift;
    }
    return value;
  };
  if (size() !== base.length) throw new Error("a difference stands on another object");
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
      throw new Error("a difference does not fit");
    }
    if (length > LOOP_BYTES_MAX) result.set(source.subarray(start, start + length), made);
    else for (let n = 0; n < length; n++) result[made + n] = source[start + n]!;
    made += length;
    if (!copies) at += length;
  }
  if (made !== bytes) throw new Error("a difference makes an object of another size");
  return result;
}
