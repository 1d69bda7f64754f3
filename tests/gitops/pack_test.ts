import { strictEqual as eq, throws } from "node:assert/strict";
import { Buffer } from "node:buffer";
import { deflateSync } from "node:zlib";
import { checkPack, type PackBounds } from "../../core/gitops/pack.ts";

const BOUNDS: PackBounds = {
  objectsMax: 100,
  objectBytesMax: 10_000,
  totalBytesMax: 30_000,
  depthMax: 5,
};
const BLOB = 3, OFS_DELTA = 6;

/** The head of an object: its type, and its size in groups of 4 and then 7 bits. */
function headOf(type: number, size: number): number[] {
  const bytes = [(type << 4) | (size & 15)];
  for (let rest = size >> 4; rest > 0; rest >>= 7) {
    bytes[bytes.length - 1]! |= 128;
    bytes.push(rest & 127);
  }
  return bytes;
}

function varint(size: number): number[] {
  return size < 128 ? [size] : [(size & 127) | 128, ...varint(size >> 7)];
}

/** How far back the base of a difference lies; enough for two bytes. */
const offset = (back: number) => back < 128 ? [back] : [((back >> 7) - 1) | 128, back & 127];

const blob = (size: number, claimed = size) =>
  Buffer.concat([Buffer.from(headOf(BLOB, claimed)), deflateSync(Buffer.alloc(size))]);

/** A difference that claims a result of some size. */
function delta(back: number, result: number): Buffer {
  const body = Buffer.from([...varint(1), ...varint(result), 0]);
  return Buffer.concat([
    Buffer.from([...headOf(OFS_DELTA, body.length), ...offset(back)]),
    deflateSync(body),
  ]);
}

function pack(objects: readonly Buffer[], count = objects.length): Uint8Array {
  const head = Buffer.alloc(12);
  head.write("PACK");
  head.writeUInt32BE(2, 4);
  head.writeUInt32BE(count, 8);
  return Buffer.concat([head, ...objects, Buffer.alloc(20)]);
}

const check = (objects: readonly Buffer[], count?: number) =>
  checkPack(pack(objects, count), BOUNDS);

const chain = (length: number) => {
  const objects: Buffer[] = [blob(1)];
  for (let n = 0; n < length; n++) objects.push(delta(objects.at(-1)!.length, 1));
  return objects;
};

Deno.test("checkPack: what is within the bounds passes, and what is beyond any of them does not", () => {
  const large = { name: "RepositoryTooLarge" };
  check([]);
  check([blob(0), blob(10_000), blob(10_000), blob(9_000)]);
  throws(() => check([blob(10_001)]), large);
  throws(() => check([blob(10_000), blob(10_000), blob(10_000), blob(1)]), large);
  throws(() => check([], 101), large);
  check(chain(5));
  throws(() => check(chain(6)), large);
  const base = blob(1);
  check([base, delta(base.length, 10_000)]);
  throws(() => check([base, delta(base.length, 10_001)]), large);
});

Deno.test("checkPack: what lies about its size or breaks off is refused", () => {
  throws(() => check([blob(9_000, 10)]));
  throws(() => check([blob(10, 9_000)]), /another size/);
  throws(() => check([blob(1)], 2));
  throws(() => checkPack(new Uint8Array(40), BOUNDS), /no packfile/);
  const whole = pack([blob(1), blob(2)]);
  for (let length = 0; length < whole.length - 20; length++) {
    throws(() => checkPack(whole.subarray(0, length), BOUNDS), `${length}`);
  }
  eq(whole.length > 40, true);
});
