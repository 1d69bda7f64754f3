import { Buffer } from "node:buffer";
import type { KeyParts } from "../store/collection.ts";

/** How the engine's file begins the parts of a key: a text, and a number. */
const [TEXT, NUMBER] = [0x02, 0x21];
const NUMBER_BYTES = 8;
/** The sign of a number, in the first of its bytes. */
const SIGN = 0x80;

/**
 * The bytes of a key of texts and numbers, as the engine's file has them: they sort as keys do.
 * @throws {RangeError} for a text that holds a NUL, which no id and no name does
 */
export function encodeKey(key: KeyParts): Buffer {
  return Buffer.concat(key.flatMap((part) => {
    if (typeof part === "number") return [Buffer.of(NUMBER), encodeNumber(part)];
    if (part.includes("\0")) throw new RangeError("a key's text holds a NUL");
    return [Buffer.of(TEXT), Buffer.from(part), Buffer.of(0)];
  }));
}

/**
 * The key that some bytes are.
 * @throws {RangeError} when it has a part that is neither a text without NUL nor a number
 */
export function decodeKey(bytes: Uint8Array): KeyParts {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const parts: (string | number)[] = [];
  for (let at = 0; at < buffer.length;) {
    const tag = buffer[at++];
    if (tag === TEXT) {
      const end = buffer.indexOf(0, at);
      if (end === -1) throw new RangeError("a key's text does not end");
      parts.push(buffer.toString("utf8", at, end));
      at = end + 1;
    } else if (tag === NUMBER) {
      parts.push(decodeNumber(buffer.subarray(at, at + NUMBER_BYTES)));
      at += NUMBER_BYTES;
    } else throw new RangeError(`a key's part begins with the byte ${tag}`);
  }
  return parts;
}

/** The double, turned so that its bytes sort as the numbers do. */
function encodeNumber(value: number): Buffer {
  const bytes = Buffer.alloc(NUMBER_BYTES);
  bytes.writeDoubleBE(value);
  return turn(bytes, (bytes[0]! & SIGN) !== 0);
}

function decodeNumber(bytes: Buffer): number {
  return turn(Buffer.from(bytes), (bytes[0]! & SIGN) === 0).readDoubleBE();
}

function turn(bytes: Buffer, negative: boolean): Buffer {
  if (negative) bytes.forEach((byte, at) => bytes[at] = ~byte);
  else bytes[0]! ^= SIGN;
  return bytes;
}
