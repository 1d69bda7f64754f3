import { Buffer } from "node:buffer";
import { createHash } from "node:crypto";
import { deflateSync } from "node:zlib";

/** Packfiles built by hand, valid and invalid ones. */

const BLOB = 3, OFS_DELTA = 6, REF_DELTA = 7;

/** The head of an object: its type, and its size in groups of 4 and then 7 bits. */
function headOf(type: number, size: number): number[] {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = size >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1]! |= 128;
    bytes.push(rest & 127);
  }
  return bytes;
}

const object = (type: number, data: Uint8Array, base: readonly number[] = []) =>
  Buffer.concat([Buffer.from([...headOf(type, data.length), ...base]), deflateSync(data)]);

function varint(size: number): number[] {
  return size < 128 ? [size] : [(size & 127) | 128, ...varint(size >> 7)];
}

/** How far back the base of a delta lies; it takes two bytes. */
const offset = (back: number) => back < 128 ? [back] : [((back >> 7) - 1) | 128, back & 127];

/** A file of zeros, which may declare another size. */
export const blob = (size: number, claimed = size): Buffer =>
  Buffer.concat([Buffer.from(headOf(BLOB, claimed)), deflateSync(Buffer.alloc(size))]);

/** A file. */
export const file = (text: string): Buffer => object(BLOB, Buffer.from(text));

/** A delta: the sizes of its base and of its result, and its instructions. */
export const steps = (base: number, result: number, ...rest: readonly number[]): Buffer =>
  Buffer.from([...varint(base), ...varint(result), ...rest]);

/** The instructions that copy some bytes from the start of the base and append a text. */
export const copyAnd = (bytes: number, text: string): number[] => [
  ...(bytes === 0 ? [] : [0b1011_0000, bytes & 255, bytes >> 8]),
  ...(text === "" ? [] : [text.length, ...Buffer.from(text)]),
];

/** A delta whose base lies some bytes before it. */
export const byPlace = (back: number, data: Uint8Array): Buffer =>
  object(OFS_DELTA, data, offset(back));

/** A delta whose base is named by its hash. */
export const byHash = (hash: string, data: Uint8Array): Buffer =>
  object(REF_DELTA, data, [...Buffer.from(hash, "hex")]);

/** The hash of a file. */
export const hashOf = (text: string): string =>
  createHash("sha1").update(`blob ${Buffer.byteLength(text)}\0${text}`).digest("hex");

/** A packfile of these objects, which may declare another number. */
export function pack(objects: readonly Buffer[], count = objects.length): Buffer {
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  const body = Buffer.concat([head, ...objects]);
  return Buffer.concat([body, createHash("sha1").update(body).digest()]);
}
