import { Buffer } from "node:buffer";
import type { KeyParts } from "../store/collection.ts";

/** The first byte of a key's part in the engine's file: a string, a number. */
const [TEXT, NUMBER] = [0x02, 0x21];
const NUMBER_BYTES = 8;
/** The sign bit in a number's first byte. */
const SIGN = 0x80;

/**
 * Encodes a key of strings and numbers as the engine's file does. The bytes sort as the keys do.
 * @throws {RangeError} for a string that holds a NUL, which no id or name does
 */
export function encodeKey(key: KeyParts): Buffer {
  return Buffer.concat(key.flatMap((part) => {
    if (typeof part === "number") return [Buffer.of(NUMBER), encodeNumber(part)];
    if (part.includes("\0")) throw new RangeError("a string in a key contains a NUL");
    return [Buffer.of(TEXT), Buffer.from(part), Buffer.of(0)];
  }));
}

/**
 * Decodes a key.
 * @throws {RangeError} when a part is neither a string without NUL nor a number
 */
export function decodeKey(bytes: Uint8Array): KeyParts {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: (string | number)[] = [];
  for (let at = 0; at < buffer.length;) {
    const tag = buffer[at++];
    if (tag === TEXT) {
      const end = buffer.indexOf(0, at);
      if (end === -1) throw new RangeError("a string in a key is not terminated");
      parts.push(buffer.toString("utf8", at, end));
      at = end + 1;
    } else if (tag === NUMBER) {
      parts.push(decodeNumber(buffer.subarray(at, at + NUMBER_BYTES)));
      at += NUMBER_BYTES;
    } else throw new RangeError(`a key part has the unknown type byte ${tag}`);
  }
  return parts;
}

/** A big-endian double, inverted so that its bytes sort as the numbers do. */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeDoubleBE(value);
  return invert(bytes, (bytes[0]! & SIGN) !== 0);
}

function decodeNumber(bytes: Buffer): number {
  return invert(Buffer.from(bytes), (bytes[0]! & SIGN) === 0).readDoubleBE();
}

function invert(bytes: Buffer, negative: boolean): Buffer {
  if (negative) bytes.forEach((byte, at) => bytes[at] = ~byte);
  else bytes[0]! ^= SIGN;
  return bytes;
}
