/**
 * Archives in the format of POSIX tar (ustar), which every common tool opens. The name, size and time of a file
 * determine all other bytes of its header, so a verifier can compare every byte of an archive.
 */

const BLOCK_BYTES = 512;
const NAME_BYTES_MAX = 100;
const CHECKSUM = { at: 148, bytes: 8 } as const;
const encoder = new TextEncoder();

/** The fields of a header, with where each begins. Numbers are octal and end with a NUL. */
function fieldsOf(name: string, size: number, timeSeconds: number) {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, "0")}\0`;
  return [
    [0, name],
    [100, octal(0o644, 7)],
    [108, octal(0, 7)],
    [116, octal(0, 7)],
    [124, octal(size, 11)],
    [136, octal(timeSeconds, 11)],
    [CHECKSUM.at, " ".repeat(CHECKSUM.bytes)],
    [156, "0"],
    [257, "ustar\x0000"],
  ] as const;
}

/**
 * The header of a file.
 * @throws {RangeError} for a name that does not fit
 */
export function tarHeader(
  name: string,
  size: number,
  timeSeconds: number,
): Uint8Array<ArrayBuffer> {
  if (encoder.encode(name).length > NAME_BYTES_MAX) throw new RangeError(`too long: ${name}`);
  const header = new Uint8Array(BLOCK_BYTES);
  for (const [at, text] of fieldsOf(name, size, timeSeconds)) header.set(encoder.encode(text), at);
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.set(encoder.encode(`${sum.toString(8).padStart(6, "0")}\0 `), CHECKSUM.at);
  return header;
}

/** The bytes after a file of this size, which fill its last block. */
export const tarPadding = (size: number): Uint8Array<ArrayBuffer> =>
  new Uint8Array((BLOCK_BYTES - size % BLOCK_BYTES) % BLOCK_BYTES);

/** The end of an archive. */
export const tarEnd = (): Uint8Array<ArrayBuffer> => new Uint8Array(2 * BLOCK_BYTES);
